import { mkdir, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { installCommand } from '../setup/packages.mjs';
import { writePrivateFile } from './file.ts';
import { DAEMON_PATH, type Launch } from './launch.ts';
import type { Listen } from './services.ts';

/** The most connections: two for each client. Must stay below the limit of open files. */
const CONNECTIONS = 8192;
/** Idle connections of a worker to the ingests. */
const KEPT = 512;
/** Requests of a connection until nginx closes it: its default of 1000 would reconnect fast clients all the time. */
const REQUESTS = 1_000_000_000;

/** Rejects in one line when nginx is not installed. */
export async function requireNginx(program = 'nginx'): Promise<void> {
  if ((await nginxVersion(program)) !== undefined) return;
  throw new Error(
    `nginx is not installed, and TOPOLOGY=cluster wants it: TOPOLOGY=cluster npm run setup, or ${installCommand(['nginx'])}`,
  );
}

/** nginx' version; undefined: it is not installed. */
export async function nginxVersion(program = 'nginx'): Promise<string | undefined> {
  const { failed, stderr = '' } = await execa(program, ['-v'], { env: { PATH: DAEMON_PATH }, reject: false });
  return failed ? undefined : /nginx\/(\S+)/.exec(stderr)?.[1];
}

interface NginxOptions {
  /** The port to listen on. */
  port: number;
  listen?: Listen;
  /** `http://host:port` of each ingest. */
  ingests: readonly string[];
  /** BODY_LIMIT of the ingests, bytes. */
  bodyLimit: number;
  /** Paths of certificate (with chain) and key. With them nginx speaks TLS, and HTTP to the ingests. */
  tls?: { cert: string; key: string };
}

/**
 * Private nginx before the ingests, round robin. A request that may have reached an ingest is not sent to another one, as the
 * message could be queued twice. It passes on bodies of up to twice the ingests' limit, so that the ingests refuse them.
 */
export async function prepareNginx(dir: string, options: NginxOptions): Promise<Launch> {
  const home = join(dir, 'nginx');
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { recursive: true, mode: 0o700 });
  const config = join(home, 'nginx.conf');
  await writePrivateFile(config, nginxConfig(home, options));
  return {
    name: 'nginx',
    command: 'nginx',
    args: ['-p', home, '-c', config, '-e', 'stderr'],
    // Lets requests in flight finish.
    stopSignal: 'SIGQUIT',
  };
}

export function nginxConfig(home: string, options: NginxOptions): string {
  const { port, listen = '127.0.0.1', ingests, bodyLimit, tls } = options;
  const bodyMax = bodyLimit * 2;
  const servers = ingests.map((url) => `    server ${new URL(url).host} max_fails=0;`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path "${home}/${kind}";`,
  );
  const answer = (location: string, status: number, error: string) =>
    `    location ${location} {
      default_type application/json;
      return ${status} '${JSON.stringify({ error })}';
    }`;
  // Started by root, nginx would switch to a user that cannot enter this directory.
  const user = process.getuid?.() === 0 ? `user ${userInfo().username};` : '';
  return `daemon off;
pid "${home}/nginx.pid";
error_log stderr notice;
worker_processes auto;
worker_shutdown_timeout 5s;
${user}
events {
  worker_connections ${CONNECTIONS};
}
http {
  access_log off;
  server_tokens off;
${temporary.join('\n')}
  client_max_body_size ${bodyMax};
  client_body_buffer_size 64k;
  keepalive_timeout 75s;
  keepalive_requests ${REQUESTS};
  upstream ingest {
    zone ingest 64k;
${servers.join('\n')}
    keepalive ${KEPT};
    keepalive_requests ${REQUESTS};
    # Below the ingest's 72 s, so that the ingest never closes first.
    keepalive_timeout 60s;
  }
  server {
    listen ${listen}:${port}${tls ? ' ssl' : ''} backlog=4096;
${tls ? `    ssl_certificate "${tls.cert}";\n    ssl_certificate_key "${tls.key}";\n` : ''}    location / {
      proxy_pass http://ingest;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_next_upstream error;
      proxy_connect_timeout 2s;
      proxy_read_timeout 30s;
    }
    # Each ingest has its own figures: stack.json has their addresses.
    location = /metrics {
      return 404;
    }
    error_page 404 @unknown;
    error_page 413 @large;
    error_page 502 @away;
    error_page 504 @late;
${answer('@unknown', 404, 'nginx has no metrics of the ingests: each has its own, see health in stack.json')}
${answer('@large', 413, `the body exceeds the limit of ${bodyLimit} bytes`)}
${answer('@away', 502, 'no ingest answers')}
${answer('@late', 504, 'the ingest did not answer in time')}
  }
}
`;
}
