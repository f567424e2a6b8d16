import { Histogram } from 'prom-client';

/** Upper bounds of the buckets, in seconds: a validation takes 100 µs, a backlog minutes. */
const buckets = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  300,
];

/** A histogram of durations. A registry has to be given it. */
export class Durations extends Histogram {
  /** @param name ends in `_seconds`, by Prometheus' conventions */
  constructor(name: string, help: string) {
    super({ name, help, buckets, registers: [] });
  }

  /** Counts a duration in microseconds. One below zero, as clocks of two hosts differ, counts as zero: a sum never falls. */
  add(us: number): void {
    this.observe(Math.max(0, us) / 1e6);
  }
}
