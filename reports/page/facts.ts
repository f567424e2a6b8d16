/** Facts about a run that the page shows, worked out from its data. Pure. */
import type { Brief, Interval, Latency, Run, ScriptFigure } from '../contract/run.ts';
import { compact, glued } from '../format.ts';

/** The title of a chart by its key in facts.titles; empty: Go made none. */
export function titleOf({ facts }: Pick<Run, 'facts'>, key: string): string {
  return glued(facts.titles[key] ?? '');
}

/** The label of the latency of requests. */
export function protocolOf({ run }: Pick<Run, 'run'>): string {
  return run.protocol;
}

/** The figures of a script, in the order of their names' first mention; of several generators each has its value. */
export function scriptFigures(figures: readonly ScriptFigure[]): [name: string, text: string][] {
  return [...Map.groupBy(figures, ({ name }) => name)].map(([name, same]) => {
    const values = same.map(({ value }) => (value === null ? 'not available' : compact(value)));
    const unit = same.some(({ value }) => value !== null) ? same[0]?.unit : '';
    return [name, `${values.join(' · ')} ${unit}`.trim()];
  });
}

/** A percentile p needs at least 1 / (1 − p) samples, or it is just the largest one. */
export function supports(samples: number, percentile: number): boolean {
  return samples * (100 - percentile) >= 100 - 1e-6;
}

const PERCENTILES = { p50: 50, p75: 75, p90: 90, p95: 95, p99: 99, p999: 99.9 } as const;
export type PercentileKey = keyof typeof PERCENTILES;

/** A percentile in ms; null: it has too few samples. */
export function percentile(
  latency: { count: number } & Partial<Record<PercentileKey, number | null>>,
  key: PercentileKey,
): number | null {
  return supports(latency.count, PERCENTILES[key]) ? (latency[key] ?? null) : null;
}

/** A percentile of a second; null where too little happened in it. */
export function percentileOf(brief: Brief | null, key: PercentileKey & keyof Brief): number | null {
  return brief === null ? null : percentile(brief, key);
}

/** The colours of the stages after the first, which is `schedule`; properties of colours.css. */
const COLOURS = [
  'request',
  'ingest',
  'queue',
  'relay',
  'delivery',
  'violet',
  'olive',
  'orange',
  'cyan',
  'magenta',
  'grey',
];

/** The colour of one of several stages in order. */
export function colourOf(stages: readonly string[], stage: string): string {
  const at = stages.indexOf(stage);
  return at < 1 ? 'schedule' : (COLOURS[(at - 1) % COLOURS.length] as string);
}

export interface TimeRange {
  /** s since the start of the run. */
  start: number;
  end: number;
}

export interface PhaseSpan extends TimeRange {
  name: string;
  measured: boolean;
}

/** Properties that all charts over time share. */
export function overTime(run: Run) {
  const epoch = Date.parse(run.run.started);
  const phases = phaseSpans(run);
  const end = endOf(run);
  // Too little arrives in the one second after the load to compare with it.
  const drain = phases.at(-1);
  const rest = drain?.name === DRAIN && end - drain.start <= 1 + SLACK ? { rest: drain.start } : {};
  return {
    kind: 'time' as const,
    phases,
    end,
    ...rest,
    gaps: gapSpans(run),
    ...(Number.isNaN(epoch) ? {} : { epoch }),
  };
}

/** The drain after the load, in which the rest of it arrives. */
const DRAIN = 'drain';
/** How much longer than planned a phase may take, s. */
const SLACK = 0.05;

/** The end of the last second, s since the start of the run. */
function endOf({ timeline }: Run): number {
  return (timeline.at(-1)?.t ?? -1) + 1;
}

/** The phases as they went. */
function phaseSpans(run: Run): PhaseSpan[] {
  const { steps } = run;
  const phases = steps.map((step) => ({
    name: step.name,
    start: step.start_s,
    end: step.start_s + step.duration_s,
    measured: step.measured,
  }));
  const [over, end] = [phases.at(-1)?.end ?? 0, endOf(run)];
  return end > over && over > 0 ? [...phases, { name: DRAIN, start: over, end, measured: false }] : phases;
}

/** Share of a second. A step of a closed load begins some ms after the second in which the last one has drained. */
const LEAST_MEASURED = 0.9;

/** The seconds that lie in measured phases, ascending. */
export function measuredSeconds({ steps, timeline }: Pick<Run, 'steps' | 'timeline'>): Interval[] {
  const measured = steps.filter((step) => step.measured);
  return timeline.filter(({ t }) => {
    const shares = measured.map(
      ({ start_s, duration_s }) => Math.min(t + 1, start_s + duration_s) - Math.max(t, start_s),
    );
    return shares.reduce((sum, share) => sum + Math.max(0, share), 0) >= LEAST_MEASURED;
  });
}

/** The spans in which a subscriber had no connection. */
export function gapSpans({ health }: Run): TimeRange[] {
  return health.gaps.map(({ from_s, to_s }) => ({ start: from_s, end: to_s ?? Number.POSITIVE_INFINITY }));
}

/** The points of a curve with enough samples; the last, 100 %, is not a percentile. */
export function curve(latency: Latency): [percentile: number, ms: number][] {
  return latency.curve.filter(([p]) => p >= 50 && p < 100 && supports(latency.count, p));
}
