import { join } from 'node:path';

/** How to start a process of the stack. Arguments hold no secrets, as anyone can list them. */
export interface Launch {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** The signal that asks it to end; SIGTERM by default. */
  stopSignal?: NodeJS.Signals;
}

/** PATH with Debian's folders of daemons. */
export const DAEMON_PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin`;

const PIPELINE = join(import.meta.dirname, '..');

/**
 * Node's flags of ingest and relay: a young generation of 8 MB instead of 16, and an old one that is collected after it has grown by
 * 75 %. Under a flood (row 24 of the faults, 50 MB allowed) the ingest's memory grew by 22 to 27 MB in six runs; with the young
 * generation alone bounded, to 4 or 16 MB, by 32 to 120 MB in five. A relay's resident memory stays at half of what it grows to without.
 */
const NODE_FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=75'];

/** Launches a program of the pipeline, by its path in it. */
export function nodeLaunch(name: string, path: string, env: Record<string, string>): Launch {
  return {
    name,
    command: process.execPath,
    args: [...NODE_FLAGS, join(PIPELINE, path)],
    env: { ...env, PROCESS_NAME: name },
  };
}
