/** Waits until the time that alarm.ts has set, and notifies it. */
import { workerData } from 'node:worker_threads';
import { RUNG, SET, type Shared } from './alarm.ts';
import { monotonic } from './thread.ts';

const { cells, time } = workerData as Shared;

for (let seen = 0; ; seen = Atomics.load(cells, SET)) {
  // No time is set yet.
  while (Atomics.load(cells, SET) === seen) {
    const left = seen === 0 ? Number.POSITIVE_INFINITY : ((time[0] as number) - monotonic()) / 1000;
    if (left > 0 && Atomics.wait(cells, SET, seen, left) !== 'timed-out') continue;
    Atomics.store(cells, RUNG, seen);
    Atomics.notify(cells, RUNG);
    Atomics.wait(cells, SET, seen);
  }
}
