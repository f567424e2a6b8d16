/** npm forwards a signal that the terminal has sent us too: signals within this time are one Ctrl-C. */
const SAME_MS = 300;

/** The exit code of an interrupted command: 128 + SIGINT. */
export const INTERRUPTED = 130;

/** Calls `stop` at the first signal to end, and `force` at the next one. */
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
