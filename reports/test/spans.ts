/** Runs with spans. */
import type { Run, Spans, StageRow } from '../contract/run.ts';
import { golden, HOSTILE } from './goldens.ts';

const stage = (from: string, to: string, mean: number, bound = 0) => ({
  ...{ from, to, mean, error: mean / 10, p50: mean, p99: 2 * mean, max: 3 * mean, bound },
});

const span = (name: string, depth: number, start_ms: number, end_ms: number) => ({
  ...{ service: 'api', name, kind: 'server', depth, start_ms, end_ms },
});

/** A pipeline with two marks, on a host whose clock the traces bound. */
export const SPANS: Spans = {
  one_in: 100,
  listen: '127.0.0.1:4318',
  received: {
    requests: 9,
    refused: 1,
    spans: 930,
    own: 900,
    linked: 20,
    others: 7,
    malformed: 2,
    dropped: 1,
  },
  sampled: 310,
  traced: 305,
  count: 300,
  marks: [
    {
      mark: 'received',
      span: 'start of the server',
      used: true,
      seen: 305,
      missing: 0,
      twice: 0,
      disordered: 0,
    },
    { mark: 'claimed', span: HOSTILE, used: true, seen: 302, missing: 3, twice: 2, disordered: 0 },
    { mark: 'published', span: 'start of …', used: false, seen: 4, missing: 0, twice: 0, disordered: 0 },
  ],
  stages: [
    ...[stage('due', 'sent', 0.1), stage('sent', 'received', 0.4, 0.2)],
    ...[stage('received', 'claimed', 6), stage('claimed', 'arrived', 3.5, 0.2)],
  ],
  arrival: stage('due', 'arrived', 10),
  difference: { mean: 0.5, p50: 0.4, p99: null },
  clocks: [
    { host: 'node-a', offset_ms: -20.1, bound_ms: 0.2, basis: 'traces' },
    { host: HOSTILE, offset_ms: 0, bound_ms: 0, basis: 'same host' },
  ],
  slowest: Array.from({ length: 10 }, (_, i) => ({
    id: `r.1.${i}`,
    trace: `${i}`.padStart(32, 'a'),
    arrival_ms: 60 - i,
    stages_ms: [0.1, 10, 40, 9.9 - i],
    spans: [span('POST /messages', 0, 10, 12), span(HOSTILE, 1, 30, 70)],
  })),
};

/** What Go makes of spans. */
export const FACTS = {
  span_stages: SPANS.stages.map(
    (one): StageRow => ({
      ...{ name: `${one.from} → ${one.to}`, from: one.from, to: one.to, says: '', count: SPANS.count },
      ...{ mean_ms: one.mean, error_ms: one.error, p50_ms: one.p50, p99_ms: one.p99, max_ms: one.max },
      ...{ share: (one.mean ?? 0) / 10, slow_share: null, slow_mean_ms: null },
      bound_ms: one.bound > 0 ? one.bound : null,
    }),
  ),
  span_head: '300 of 310 deliveries of sampled messages (one in 100) have stages, by 920 spans',
  span_left: '5 without a span, 3 without "claimed"',
};

/** The passing run with spans, and what follows from them. */
export function withSpans(spans: Spans, facts: Partial<Run['facts']> = FACTS): Run {
  const run = golden('passing');
  return { ...run, spans, facts: { ...run.facts, ...facts } };
}

const NONE = { stages: [], marks: [], count: 0, slowest: [], listen: '' };

/** Spans that are joined later. */
export function unjoined(): Run {
  const waiting = { ...SPANS, ...NONE, received: { ...SPANS.received, requests: 0 } };
  return withSpans(waiting, { span_head: '310 deliveries, no spans so far', span_stages: [] });
}

/** Spans that are not marks. */
export function unmarked(): Run {
  const slowest = SPANS.slowest.map((one) => ({ ...one, stages_ms: [] }));
  return withSpans({ ...SPANS, ...NONE, slowest }, { ...FACTS, span_stages: [] });
}
