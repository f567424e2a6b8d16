import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { QueueKind } from '../queue/queue.ts';
import { identity as identityOf } from '../setup/lock.mjs';

/** What scenarios read to find a running stack: `stack.json`. It holds credentials; its mode is 0600. */
export interface StackFile {
  /** The supervisor. */
  pid: number;
  /** What distinguishes it from a later process with the same pid. Absent: not known. */
  identity?: string;
  /** ISO 8601. */
  started: string;
  ingest: { url: string; token: string };
  redis: { url: string };
  /** Whoever looks after dead letters. */
  operator: { redisUrl: string };
  /** What is between ingest and relays. */
  queue: QueueKind;
  /** How that is divided, and whether its Redis is a cluster. */
  division: { shards: number; cluster: boolean };
  /** Whoever fills one stage by itself, the queue as the ingest does, the broker as a relay does; or empties the queue (`queueUrl`). */
  stages: { redisUrl: string; mqttUrl: string; queueUrl: string };
  mqtt: {
    url: string;
    username: string;
    password: string;
    /** Where subscribers say whether they are there. Absent where the broker is the user's own. */
    status?: string;
    /** Further brokers, of the same users and passwords. Absent: there is one. */
    more?: string[];
  };
  topology: 'single' | 'cluster';
  /** What each ingest listens on, by its name: the same for all, or behind nginx each its own. */
  workers: Record<string, string>;
  /** Where each ingest and relay serves its health: `/livez`, `/readyz`, `/metrics`. */
  health: Record<string, string>;
  /** It is one run's, and ends with it. Absent: whoever comes may use it. */
  temporary?: true;
  /** Generator and pipeline are one machine although its addresses do not say so: network namespaces. Absent: they say it. */
  oneHost?: true;
  /** Versions and settings, for reports. */
  facts: Record<string, string | number | boolean>;
  /** What it was started with, by the names of the environment. Absent: not known, it is an earlier version's. */
  settings?: Record<string, string | number | boolean>;
  /** Certificates of the authorities that vouch for the servers, PEM. Absent: the built-in ones do, or nothing speaks TLS. */
  ca?: string;
  /** Pid by process name, like `relay-1`. */
  processes: Record<string, number>;
}

const path = (dir: string) => join(dir, 'stack.json');

/** Writes all of it or nothing: no reader sees half a file. */
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

/** A file for this user's eyes, replaced in one step. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

/** The stack that is up in this directory, or undefined: none was started, or its supervisor is gone. */
export async function runningStack(dir: string): Promise<StackFile | undefined> {
  const stack = await readStackFile(dir);
  if (stack === undefined) return undefined;
  const { pid, identity } = stack;
  return (identity === undefined ? isAlive(pid) : identityOf(pid) === identity) ? stack : undefined;
}

/** A path as a person would type it from here. */
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
