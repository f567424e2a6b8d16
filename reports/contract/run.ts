/** The data of a report. Types are generated from run.schema.json: absent is null, latencies are in ms. */
import type { Health, Latencies, Latency, Run, Stage, Targets, Verdict } from './run.gen.d.ts';
import OURS from './stages.json' with { type: 'json' };

export type * from './run.gen.d.ts';

/** The stages of a delivery in a run, in order. They add up to its arrival. One of an earlier version has those of our pipeline. */
export function stagesOf({ stages }: Pick<Run, 'stages'>): readonly Stage[] {
  return stages ?? OURS;
}

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

/** The ends of an id: scheduled is their sum. */
export const ENDS = [
  'dropped',
  'rejected',
  'unknown',
  'arrived',
  'altered',
  'dead_lettered',
  'queued',
  'lost',
  'pending',
] as const;
export type End = (typeof ENDS)[number];

export type VerdictResult = Verdict['result'];
export type Gap = Health['gaps'][number];
export type ScriptFigure = NonNullable<Run['figures']>[number];
export type TargetFigures = Omit<Targets['rows'][number], 'name'>;
