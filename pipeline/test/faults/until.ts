import { setTimeout as sleep } from 'node:timers/promises';

export const READY_MS = 60_000;

/** Waits until a condition holds; fails after `withinMs` with its description. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  withinMs = READY_MS,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${withinMs / 1000} s`);
    await sleep(20);
  }
}
