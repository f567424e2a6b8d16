import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Reads the pids that are on the leash, one list a line, the last one counts. End of input means that
 * whoever held the leash is gone, however he went: then all are told to end, and after 15 s made to.
 */
const SCRIPT = `
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -TERM $pids 2>/dev/null
tries=0
while [ -n "$pids" ] && [ $tries -lt 75 ]; do
  alive=
  for pid in $pids; do kill -0 "$pid" 2>/dev/null && alive="$alive $pid"; done
  pids=$alive
  tries=$((tries + 1))
  [ -z "$pids" ] || sleep 0.2
done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
`;

/** Ends the processes it holds when this process dies, even by SIGKILL: no orphan stays behind. */
export class Leash {
  readonly #held = new Set<number>();
  #watchdog: ChildProcess | undefined;

  hold(pid: number): void {
    this.#watchdog ??= this.#start();
    this.#held.add(pid);
    this.#tell();
  }

  /** To be called when the process has ended: its pid may be another's soon. */
  release(pid: number): void {
    if (this.#held.delete(pid)) this.#tell();
  }

  #start(): ChildProcess {
    // A group of its own: Ctrl-C in the terminal is for us alone.
    const watchdog = spawn('/bin/sh', ['-c', SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    watchdog.unref();
    watchdog.on('error', () => {});
    // The pipe must not keep this process alive. Its end, when this process ends, is what the watchdog awaits.
    watchdog.stdin?.on('error', () => {});
    (watchdog.stdin as unknown as { unref(): void }).unref();
    return watchdog;
  }

  #tell(): void {
    this.#watchdog?.stdin?.write(`${[...this.#held].join(' ')}\n`);
  }
}
