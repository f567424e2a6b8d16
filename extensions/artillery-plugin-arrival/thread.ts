/** What the threads of a run say to each other: Artillery's, which sends, and the recorder, which does all else. */
import { BroadcastChannel, type MessagePort } from 'node:worker_threads';
import type { Account, VerdictResult } from '../../reports/run.ts';
import type { Options } from './options.ts';
import type { Turn } from './turns.ts';

/** What the recorder is started with. */
export interface Assignment {
  /** Of the run. */
  id: string;
  method: string;
  /** Of Artillery. */
  version: string;
  command: string;
  options: Options;
  /** 0 until the recorder is ready or has failed, then what of both. */
  ready: Int32Array;
  /** Where the recorder says why it failed, or how the run went. */
  port: MessagePort;
}

export const [READY, FAILED] = [1, 2];

/** Times are µs of the process's monotonic clock, which all threads share. */
export type Told =
  | { tell: 'start'; epoch: number }
  /** Closed model: the next request, in the order of their numbers; `due` in s since the start of the run. */
  | { tell: 'take'; phase: number; due: number; flow: number }
  | { tell: 'sent'; n: number; at: number }
  | { tell: 'answer'; n: number; at: number; status: number }
  | { tell: 'failed'; n: number; at: number; class: string; message: string }
  | { tell: 'beyond' }
  /** Closed model: the recorder leads the phases, and hears when nothing is under way. */
  | { tell: 'turn'; turn: Turn }
  | { tell: 'over' }
  | { tell: 'idle' }
  /** ms; the arrival latencies since the last time. */
  | { tell: 'latencies'; ms: number[] }
  | { tell: 'end'; account: Account; result: VerdictResult }
  /** Artillery ends, whatever is still on its way. */
  | { tell: 'stop' };

export function channelOf(run: string): BroadcastChannel {
  return new BroadcastChannel(`arrival-${run}`);
}

/** µs of the process's monotonic clock. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

/**
 * By how much (µs) {@link monotonic} is ahead of this thread's `performance.now()`, which begins with the thread: for good, since
 * both tick alike. Of several looks the quickest, since a thread may lose its core between two readings.
 */
export function aheadOfThread(): number {
  let ahead = 0;
  let quickest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 20; i++) {
    const before = performance.now() * 1000;
    const moment = monotonic();
    const after = performance.now() * 1000;
    if (after - before >= quickest) continue;
    quickest = after - before;
    ahead = moment - (before + after) / 2;
  }
  return ahead;
}
