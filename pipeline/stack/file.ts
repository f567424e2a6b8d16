import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { QueueKind } from '../queue/queue.ts';
import { identity as identityOf } from '../setup/lock.mjs';

/** `stack.json`, which describes a running stack to scenarios. It holds credentials; its mode is 0600. */
export interface StackFile {
  /** The supervisor. */
  pid: number;
  /** Distinguishes it from a later process with the same pid. Absent: unknown. */
  identity?: string;
  /** ISO 8601. */
  started: string;
  ingest: { url: string; token: string };
  redis: { url: string };
  /** The Redis user of the command `dead-letters`. */
  operator: { redisUrl: string };
  /** The kind of queue. */
  queue: QueueKind;
  /** The queue's shards, whether its Redis is a cluster, and the prefix of its keys. */
  division: { shards: number; cluster: boolean; prefix?: string };
  /** Addresses for scripts that load one stage, with the rights of ingest and relay, and of the collector (`queueUrl`). */
  stages: { redisUrl: string; mqttUrl: string; queueUrl: string };
  mqtt: {
    url: string;
    username: string;
    password: string;
    /** The topic prefix of subscribers' presence. Absent: the broker is the user's own. */
    status?: string;
    /** Further brokers with the same users and passwords. Absent: none. */
    more?: string[];
  };
  topology: 'single' | 'cluster';
  /** The address of each ingest, by name: the same for all, or behind nginx each its own. */
  workers: Record<string, string>;
  /** The address of each ingest's and relay's `/livez`, `/readyz`, `/metrics`. */
  health: Record<string, string>;
  /** It belongs to one run and ends with it. Absent: any run may use it. */
  temporary?: true;
  /** Generator and pipeline share a machine although the addresses differ (network namespaces). Absent: the addresses show it. */
  oneHost?: true;
  /** Versions and settings, for reports. */
  facts: Record<string, string | number | boolean>;
  /** Its settings, by the names of the environment. */
  settings: Record<string, string | number | boolean>;
  /** Certificates of the servers' authorities, PEM. Absent: the built-in ones, or no TLS. */
  ca?: string;
  /** Pid by process name, like `relay-1`. */
  processes: Record<string, number>;
}

const path = (dir: string) => join(dir, 'stack.json');

/** Replaces the file atomically. */
export async function writeStackFile(dir: string, stack: StackFile): Promise<void> {
  await writePrivateFile(path(dir), `${JSON.stringify(stack, null, 2)}\n`);
}

export async function readStackFile(dir: string): Promise<StackFile | undefined> {
  try {
    return JSON.parse(await readFile(path(dir), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${path(dir)} cannot be read: ${(error as Error).message}`);
  }
}

export async function removeStackFile(dir: string): Promise<void> {
  await rm(path(dir), { force: true });
}

/** Replaces a file that only this user can read, atomically. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

/** The running stack of a directory; undefined: there is none, or its supervisor is gone. */
export async function runningStack(dir: string): Promise<StackFile | undefined> {
  const stack = await readStackFile(dir);
  if (stack === undefined) return undefined;
  const { pid, identity } = stack;
  return (identity === undefined ? isAlive(pid) : identityOf(pid) === identity) ? stack : undefined;
}

/** A path relative to the current directory, absolute outside it. */
export function shortPath(path: string): string {
  const short = relative('', path) || '.';
  return short.startsWith('..') ? path : short;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const [CURL_CONF, MOSQUITTO_SUB] = ['curl.conf', 'mosquitto_sub'] as const;

export const CLIENT_FILES = [CURL_CONF, MOSQUITTO_SUB];

/** @param ca a file of authorities to trust; empty: the built-in ones */
export async function writeClientFiles(dir: string, { ingest, mqtt }: StackFile, ca: string): Promise<void> {
  const { protocol, hostname, port } = new URL(mqtt.url);
  const secure = protocol !== 'mqtt:' && protocol !== 'tcp:';
  const write = (name: string, lines: string[]) => writePrivateFile(join(dir, name), `${lines.join('\n')}\n`);
  await write(CURL_CONF, [
    `url = "${ingest.url}/messages"`,
    `header = "Authorization: Bearer ${escaped(ingest.token)}"`,
    'header = "Content-Type: application/json"',
    ...(ca === '' ? [] : [`cacert = "${escaped(ca)}"`]),
  ]);
  await write(MOSQUITTO_SUB, [
    `-h ${hostname}`,
    `-p ${port || (secure ? 8883 : 1883)}`,
    `-u ${mqtt.username}`,
    `-P ${mqtt.password}`,
    '-V mqttv5',
    ...(ca === '' || !secure ? [] : [`--cafile ${ca}`]),
  ]);
}

/** A text between the quotes of curl's configuration. */
function escaped(text: string): string {
  return text.replace(/["\\]/g, '\\$&');
}
