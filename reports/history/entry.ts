/** What the list shows of a run. */
import type { VerdictResult } from '../contract/run.ts';

export interface Entry {
  /** Of its directory. */
  directory: string;
  name: string;
  tool: string;
  method: string;
  topology: string;
  network: string;
  profile: string;
  labels: Record<string, string>;
  /** Queue and mode of the pipeline, the highest rate of the load, branch and commit, as far as they are known: stream, pipelined, 1,500/s, main, 2254fb31. */
  conditions: string[];
  /** RFC 3339. */
  started: string;
  ended: string | null;
  verdict: VerdictResult;
  /** Of the measured phases, ms; null: nothing arrived, or the account does not balance. */
  arrival: { p50: number | null; p99: number | null } | null;
  /** Messages. */
  account: { scheduled: number; arrived: number; lost: number };
  /** Its timeline still grows. */
  live: boolean;
  /** Which of several instances this is; null: it is the whole run. */
  generator: { number: number; of: number } | null;
}

/** A directory that is no run, and why. */
export interface Misfit {
  directory: string;
  error: string;
}

/** What the list and the live view are sent. */
export interface Listing {
  /** One page of those that match, newest first. */
  runs: (Entry & { spark: (number | null)[] })[];
  /** How many match, and how many there are. */
  matching: number;
  total: number;
  /** The labels that a list can be asked for, as `name: value`. */
  labels: string[];
  misfits: Misfit[];
}

/** A second of a run in progress; latencies of arrival in ms. */
export interface Second {
  t: number;
  phase: string | null;
  scheduled: number;
  accepted: number;
  /** Messages that were rejected, or of which nobody knows. */
  refused: number;
  arrived: number;
  backlog: number;
  p50: number | null;
  p99: number | null;
}
