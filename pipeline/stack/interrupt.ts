/** npm hands on a signal that the terminal has already sent to us: that is one Ctrl-C, not two. */
const SAME_MS = 300;

/** The exit code of a command that was interrupted: 128 and the number of SIGINT. */
export const INTERRUPTED = 130;

/** Calls `stop` at the first signal to end, and `force` when another one shows that this takes too long. */
export function onInterrupt(stop: (signal: NodeJS.Signals) => void, force: () => void): void {
  let first: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (first === undefined) {
        first = performance.now();
        stop(signal);
      } else if (performance.now() - first > SAME_MS) {
        force();
      }
    });
  }
}
