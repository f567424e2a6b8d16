/** What Artillery's two threads share: the lines that recorder and sender exchange, and the clock. */
import { BroadcastChannel } from 'node:worker_threads';
import type { Account } from '../../reports/contract/run.ts';

/** A request that the recorder hands out. */
export interface Slot {
  n: number;
  /** µs of the monotonic clock. */
  due_us: number;
  flow: string;
  /** Of the ingest. */
  path: string;
  /** JSON: a message, or an array of them. */
  body: string;
}

/** The line that ends a recording. */
export interface Result {
  /** For the terminal. */
  summary: string;
  verdict: { result: string };
  account: Account;
  exit: number;
}

/** A line of the recorder's; extensions/k6/README.md has all of them. */
export type Said =
  | { ready: { directory: string } }
  | { started: { epoch_us: number } }
  | { slots: Slot[] }
  | { progress: { latencies_ms: number[] } }
  | { error: { message: string } }
  | Result;

/**
 * The sender posts text, one or more lines for the recorder, and hears what the recorder has said. The main thread stands between
 * the two, since it owns the recorder's process.
 */
export function openChannel(): BroadcastChannel {
  return new BroadcastChannel('arrival');
}

/** µs of the host's monotonic clock, which the recorder has too. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1000;
}
