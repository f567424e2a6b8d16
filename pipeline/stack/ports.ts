import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { printable } from '../shared/printable.ts';

const HOST = '127.0.0.1';

/** Free ports are chosen below the ephemeral ports of Linux (from 32,768) and macOS (from 49,152), which a connection could take. */
const [LOWEST, HIGHEST] = [20_000, 32_767];
const TRIES = 100;
/** The most characters of a command line to show. */
const SHOWN = 100;

const COUNT = HIGHEST - LOWEST + 1;
/**
 * The next port to try. Each process begins elsewhere and goes on from there: two that look at the same time would choose the
 * same port now and then, if they chose by chance, as nobody listens on it until its server has started.
 */
let next = (process.pid * TRIES) % COUNT;

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const candidate = LOWEST + next;
    next = (next + 1) % COUNT;
    const port = await listenOnce(candidate).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
    });
    if (port !== undefined) return port;
  }
  throw new Error(`of ${TRIES} ports from ${LOWEST} to ${HIGHEST} none was free`);
}

/**
 * The port of a variable; 0 chooses a free one. Rejects in one line when it is taken: with the port, the variable and the
 * process that has it, if known.
 */
export async function claimPort(variable: string, wanted: number): Promise<number> {
  try {
    return wanted === 0 ? await freePort() : await listenOnce(wanted);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE') throw new Error(`${variable}=${wanted} cannot be used: ${message}`);
    const holder = await portHolder(wanted);
    throw new Error(
      `port ${wanted} (${variable}) is taken${holder ? ` by ${holder}` : ''}: stop that, or set ${variable} (0 chooses a free port)`,
    );
  }
}

async function listenOnce(port: number): Promise<number> {
  const server = createServer().listen(port, HOST);
  await once(server, 'listening');
  const chosen = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return chosen;
}

/** The beginning of a process's command line, without passwords. Names do not help: all of Node's are MainThread. */
function programOf(pid: number): string | undefined {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return printable(words.replace(/:\/\/[^/\s]*@/g, '://…@').slice(0, SHOWN)) || undefined;
  } catch {
    return undefined;
  }
}

async function portHolder(port: number): Promise<string | undefined> {
  const run = promisify(execFile);
  try {
    const { stdout } = await run('ss', ['-Hltnp', `sport = :${port}`]);
    const found = /users:\(\("([^"]+)",pid=(\d+)/.exec(stdout);
    if (found) return `${programOf(Number(found[2])) ?? found[1]} (pid ${found[2]})`;
  } catch {
    // No ss here: macOS has lsof.
  }
  try {
    const { stdout } = await run('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']);
    const found = /^p(\d+)\nc(.+)$/m.exec(stdout);
    if (found) return `${found[2]} (pid ${found[1]})`;
  } catch {
    // Nor lsof, or the process is another user's.
  }
  return undefined;
}
