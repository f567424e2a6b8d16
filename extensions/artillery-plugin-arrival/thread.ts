/** Shared by Artillery's two threads: the lines that recorder and sender exchange, and the clock. */
import { BroadcastChannel } from 'node:worker_threads';
import type { Account } from '../../reports/contract/run.ts';

/** A request that the recorder hands out. */
export interface Slot {
  n: number;
  /** When it is due, µs of the monotonic clock. */
  due_us: number;
  flow: string;
  /** A path of the ingest. */
  path: string;
  /** JSON: a message, or an array of them. */
  body: string;
  /** Absent: the run has no traces. */
  traceparent?: string;
}

/** The line that ends a recording. */
export interface Result {
  /** Text for the terminal. */
  summary: string;
  verdict: { result: string };
  account: Account;
  exit: number;
}

/** An answer of the recorder; extensions/k6/README.md lists all of them. */
export type Answer =
  | { ready: { directory: string } }
  | { started: { epoch_us: number } }
  | { slots: Slot[] }
  | { progress: { latencies_ms: number[] } }
  | { error: { message: string } }
  | Result;

/**
 * Opens the channel between the two threads. The sender posts lines for the recorder; the main thread, which owns the recorder's
 * process, posts its answers.
 */
export function openChannel(): BroadcastChannel {
  return new BroadcastChannel('arrival');
}

/** The sending thread posts it in place of lines when it can't use the script. */
export interface Refusal {
  refused: string;
}

/** Waits for the main thread to end the process with this line: by itself this thread can't, and Artillery would wait for it. */
export function refuse(message: string): never {
  openChannel().postMessage({ refused: message } satisfies Refusal);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30_000);
  process.exit(1);
}

/** Returns the time of the host's monotonic clock, which the recorder uses too, µs. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1000;
}
