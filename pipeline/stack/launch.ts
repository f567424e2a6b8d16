/** How a process of the stack is started. Nothing secret is among the arguments: anyone can list them. */
export interface Launch {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** What asks it to end; SIGTERM by default. */
  stopSignal?: NodeJS.Signals;
}

/** Debian puts daemons where a user's PATH does not look. */
export const DAEMON_PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin`;
