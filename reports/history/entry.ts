/** A run in the list. */
import type { InDoubt, Interval, VerdictResult } from '../contract/run.ts';

export interface Entry {
  /** The name of its directory. */
  directory: string;
  name: string;
  tool: string;
  method: string;
  topology: string;
  network: string;
  profile: string;
  labels: Record<string, string>;
  /** Its highest rate or concurrency. Empty: not known. */
  load: string;
  /** Settings of the command, queue and mode of the pipeline, branch, commit and whether it is dirty, as far as they are known. */
  conditions: string[];
  /** Runs with the same are of one load by the same tool through the same topology. */
  like: string;
  /** Properties that can differ between runs of one load, by name: labels, settings, facts of the pipeline, versions. */
  facts: Record<string, string>;
  /** The planned duration of all phases, s; null: one of them ends by its requests. */
  planned: number | null;
  /** RFC 3339. */
  started: string;
  ended: string | null;
  verdict: VerdictResult;
  /** Invalid, as a limit is undecided: some of its figures stand. */
  undecided: boolean;
  /** What decided the verdict, in a line. Empty: the run has not ended. */
  meaning: string;
  /** The first of the verdict's reasons. Empty: there is none. */
  reason: string;
  /** The arrival latency of the measured phases, ms; null: nothing arrived, or the account does not balance. */
  arrival: { p50: number | null; p99: number | null } | null;
  /** How the arrival may be wrong: too_high is at most as high. null: it is not in doubt. */
  doubt: InDoubt['direction'] | null;
  /** The limit of arrival p99, ms; null: none is set, or it is not known. */
  limit: number | null;
  /** Messages. */
  account: { scheduled: number; arrived: number };
  /** What did not arrive, by end: 61 % rejected, 3 lost. null: everything did, or may still. */
  missed: { messages: number; text: string } | null;
  /** Its timeline still grows. */
  live: boolean;
  /** The CI job, with its page; null: none is known. */
  job: { name: string; url: string | null } | null;
  /** How long the same work took on its machine, µs; null: not known. */
  calibration: number | null;
  /** The number of this instance among several; null: it is the whole run. */
  generator: { number: number; of: number } | null;
}

/** Whether a run's p99 is that of the pipeline, and not in doubt. */
export function isSound({ verdict, doubt }: Pick<Entry, 'verdict' | 'doubt'>): boolean {
  return doubt === null && (verdict === 'pass' || verdict === 'fail');
}

/** A directory that is not a run, and why. */
export interface Misfit {
  directory: string;
  error: string;
}

/** A run and the last usable one of the same load before it. */
export interface Change {
  /** Its directory. */
  from: string;
  /** The change of arrival p99, as a share of 1. */
  p99: number;
  /** Other differences: `build: 17 → 18`. */
  differs: string[];
}

export type Listed = Omit<Entry, 'facts'> & { spark: (number | null)[]; change: Change | null };

/** A run in the chart of p99 by run. */
export type Point = Pick<
  Entry,
  | 'directory'
  | 'started'
  | 'verdict'
  | 'doubt'
  | 'planned'
  | 'limit'
  | 'like'
  | 'load'
  | 'labels'
  | 'topology'
  | 'network'
> & { p99: number };

/** A change of p99 that has lasted: of the level before, since a run of its load. */
export interface LastingChange extends Change, Pick<Entry, 'directory' | 'started' | 'like'> {
  /** Its number among the usable runs of its load, and their count; the first is 1. */
  number: number;
  of: number;
  /** The change of p99 adjusted for the machine's speed, as a share. Absent: the same, or that is not known. */
  adjusted?: number;
  /** How much slower the machine is since then, as a share, where that explains the change. null: not known. Absent: it does not. */
  machine?: number | null;
  /** Where the machine is not known: the number of an earlier run that had the new level. Absent: none had. */
  back?: number;
}

/** The answer to a request for the list. */
export interface Listing {
  /** One page of those that match, in the order that was asked for. */
  runs: Listed[];
  /** Number of runs that match, and of all. */
  matching: number;
  total: number;
  /** The filters that a list takes; labels as `name: value`. */
  scripts: string[];
  labels: string[];
  /** The trend of one script: the one that was asked for, or that of the newest run that matches. */
  trend: { script: string; points: Point[]; lasting: LastingChange[] };
  misfits: Misfit[];
}

/** Facts of a run in progress that are known from the beginning. */
export type Plan = Pick<Entry, 'planned' | 'limit'>;

/** The end of a run in progress. `verdict` is null if its directory is gone. */
export type End = Pick<Entry, 'reason'> & { verdict: VerdictResult | null };

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
  /** Means, ms. */
  stages: Interval['stages'];
  /** The generator's CPU, % of one core. */
  cpu: number | null;
}
