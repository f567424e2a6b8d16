/** The data of a report. Types are generated from run.schema.json: absent is null, latencies are in ms. */

import TABLE from './ends.json' with { type: 'json' };
import type { Health, Latencies, Latency, Run, Targets, Verdict } from './run.gen.d.ts';
import OURS from './stages.json' with { type: 'json' };

export type * from './run.gen.d.ts';

/** The names of the stages of our pipeline. */
export const STAGES: readonly string[] = OURS.map(({ name }) => name);

const NONE: Latency = {
  count: 0,
  min: null,
  max: null,
  mean: null,
  p50: null,
  p75: null,
  p90: null,
  p95: null,
  p99: null,
  p999: null,
  curve: [],
  histogram: null,
};

/** The latency of a stage; with a count of 0 where the run does not have it. */
export function latencyOf({ stages }: Pick<Latencies, 'stages'>, stage: string): Latency {
  return stages[stage] ?? NONE;
}

/** What ends.json says of an end. */
interface AboutEnd {
  readonly meaning: string;
  /** The message did not reach its subscribers. */
  readonly missed?: boolean;
  /** It missed them by the pipeline's doing. */
  readonly failed?: boolean;
  /** The runs with a limit of 0 on it: always, or where delivery is promised (promised). */
  readonly judged?: string;
  /** No end yet: in a run that was cut off. */
  readonly open?: boolean;
  /** Shown only where there are any. */
  readonly rare?: boolean;
}

export type End = keyof typeof TABLE.ends;

/** ABOUT_END is the table of the ends, by name. */
export const ABOUT_END: Readonly<Record<End, AboutEnd>> = TABLE.ends;

/** The ends of an id, in the order of its way: scheduled is their sum. */
export const ENDS = Object.keys(TABLE.ends) as readonly End[];

/** Ends of messages that did not reach their subscribers; pending ones still may. */
export const MISSED = ENDS.filter((end) => ABOUT_END[end].missed);

/** Ends of messages that the pipeline did not bring to their subscribers. */
export const FAILED = ENDS.filter((end) => ABOUT_END[end].failed);

/** Counts of deliveries beside the ends, and what each says of a delivery. */
export const BESIDE = Object.entries(TABLE.beside).map(([name, about]) => ({
  name: name as keyof typeof TABLE.beside,
  meaning: about.meaning,
  rare: 'rare' in about,
}));

/** A count of an account. */
export type Count = End | 'scheduled' | keyof typeof TABLE.beside;

/** The counts of an account. */
export const COUNTS: readonly Count[] = [...ENDS, 'scheduled', ...BESIDE.map(({ name }) => name)];

export type VerdictResult = Verdict['result'];
export type Gap = Health['gaps'][number];
export type ScriptFigure = Run['figures'][number];
export type TargetFigures = Omit<Targets['rows'][number], 'name'>;
