/** The data of a comparison, worked out before the page or the table shows it. Latencies are in ms. */
import type { Account, Knee as RunKnee, Stage, VerdictResult } from '../contract/run.ts';
import type { Measure } from './measures.ts';

export interface Comparison {
  schema: 'arrival/comparison/1';
  /** The baseline first. */
  subjects: Subject[];
  rows: Row[];
  /** What the environments of the runs do not agree in. */
  environment: { name: string; values: (string | null)[] }[];
  /** Absent: there are none. */
  additions?: Addition[];
}

/** A table of whoever compares, beside what all comparisons have. */
export interface Addition {
  title: string;
  /** Unit, estimator and samples. */
  caption: string;
  head: string[];
  rows: string[][];
  /** Paragraphs below it. */
  notes: string[];
}

/** One run, or repeats of one. */
export interface Subject {
  /** A, B, … */
  letter: string;
  /** What tells it from the others, in a few words. */
  title: string;
  runs: RunSummary[];
  /** Why it can't be held against the baseline; null: it can. */
  obstacle: string | null;
  model: 'open' | 'closed';
  profile: string;
  /** Each count is the sum over the runs. */
  account: Account;
  /** The messages that did not get through, like 900 rejected, 3 lost; null: all did. */
  failed: string | null;
  arrival: Curve;
  http: Curve;
  /** Means; null: no stamps. */
  stages: Record<Stage, number | null>;
  steps: StepSummary[];
  /** Of a sweep of concurrency; null: it has none, or is no sweep; absent: a run of an earlier version does not say. */
  knee?: Knee | null | undefined;
  /** Of arrival by the second, of the first run; of long runs the worst of so many seconds, as many in all subjects. */
  timeline: { t: number[]; p50: (number | null)[]; p99: (number | null)[] };
}

/** Percentile 0..100, ms; of repeats the geometric mean. */
export type Curve = [percentile: number, ms: number][];

export interface RunSummary {
  name: string;
  tool: string;
  started: string;
  verdict: VerdictResult;
  reasons: string[];
  /** False: it is invalid, and repeats of it are not; its latencies and rates are in no figure. */
  counted: boolean;
}

export interface StepSummary {
  name: string;
  vus: number | null;
  measured: boolean;
  requests_per_s: number | null;
  /** Messages that were accepted and arrived while it went. */
  carried_per_s: number | null;
  arrived_per_s: number | null;
  arrival: { count: number; p50: number | null; p95: number | null; p99: number | null };
  http: {
    count: number;
    mean: number | null;
    max: number | null;
    min: number | null;
    p50: number | null;
    p99: number | null;
  };
}

/** A run's, with what is there. */
export interface Knee extends RunKnee {
  /** Arrival, ms. */
  p50: number | null;
}

export interface Row {
  name: string;
  kind: Measure['kind'];
  /** One a subject; of repeats the mean (of latencies and rates the geometric one). */
  values: (number | null)[];
  /** One a subject, null for the baseline. */
  differences: (Difference | null)[];
}

export interface Difference {
  /** other − baseline, in the row's unit. */
  absolute: number;
  /** other / baseline − 1; null where either is 0. */
  relative: number | null;
  /** Of `relative`; null where nothing tells how far it could be off: `why`. */
  interval: { low: number; high: number; from: string } | null;
  why: string | null;
  word: Word;
}

/** What the figures warrant, and nothing more. */
export type Word =
  | 'slower'
  | 'faster'
  | 'higher'
  | 'lower'
  | 'no difference seen'
  | 'not known'
  /** The better figure is that of a run in which messages failed. */
  | 'survivors only';
