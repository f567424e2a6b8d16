import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../common/within.ts';

const LOOK_MS = 100;

/**
 * Waits until a queue is empty, `withinMs` at most. A look that fails says nothing: Redis may be away for a moment.
 * @param canEmpty whether somebody still empties it
 */
export async function drained(
  depth: () => Promise<number>,
  canEmpty: () => boolean,
  withinMs: number,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline && canEmpty()) {
    if ((await within(deadline - performance.now(), depth())) === 0) return;
    await sleep(LOOK_MS);
  }
}
