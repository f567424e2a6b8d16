/** The data of a comparison, worked out before the page or the table shows it. Latencies are in ms. */
import type { Account, Knee as RunKnee, Stage, VerdictResult } from '../contract/run.ts';
import type { Measure } from './measures.ts';

/** A difference of less than this is none that anyone would act on. */
export const MARGIN = 0.01;
/** Why a figure that is better in a run in which messages failed decides nothing. */
export const BETTER_FAILED = 'messages of the better run failed: they would have been its slowest';
export const OTHER_PROFILE = 'not comparable: other profile';

export interface Comparison {
  schema: 'arrival/comparison/2';
  /** The baseline first. */
  subjects: Subject[];
  rows: Row[];
  /** Names, labels, settings and facts of the environment that differ; settings first. */
  differing: { name: string; values: string[] }[];
  /** What the conditions of a gate have found. Absent: there were none. */
  conditions?: Judgement[];
  /** Absent: there are none. */
  additions?: Addition[];
}

/** One condition of a gate, held against one subject. */
export interface Judgement {
  condition: string;
  subject: string;
  /** Only what passed lets a change through. */
  result: 'passed' | 'exceeded' | 'messages failed' | 'not judged';
  /** The figure that was judged, or why there is none. */
  detail: string;
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
  /** The address of its page, seen from the comparison's. Absent: it is not known. */
  page?: string;
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
  /** Of `relative`; null where nothing shows how far it could be off: `why`. */
  interval: { low: number; high: number; from: string } | null;
  /** Why it is undecided, other than by a wide interval: `reason` or `reason: details`. */
  why: string | null;
  word: Word;
}

/** What the figures warrant, and nothing more. Of rates, slower is lower. */
export type Word = 'slower' | 'faster' | 'equal' | 'undecided';
