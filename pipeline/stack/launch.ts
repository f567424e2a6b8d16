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
