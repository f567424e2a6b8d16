/** The data of a report. Types are generated from run.schema.json: absent is null, latencies are in ms. */
import type { Health, Run, Targets, Verdict } from './run.gen.d.ts';

export type * from './run.gen.d.ts';

/** The six stages of a delivery, in order. They add up to its arrival. */
export const STAGES = ['schedule', 'request', 'ingest', 'queue', 'relay', 'delivery'] as const;
export type Stage = (typeof STAGES)[number];

/** The ends of an id: scheduled is their sum. */
export const ENDS = [
  'dropped',
  'rejected',
  'unknown',
  'arrived',
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
