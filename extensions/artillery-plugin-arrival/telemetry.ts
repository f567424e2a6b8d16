/** What Redis knows after a run: what the pipeline's processes said of themselves, and where missing messages are. */
import type { Redis } from 'ioredis';
import type { Clock, Figures, Resource } from '../../reports/run.ts';
import type { Fate } from './ledger.ts';

const TELEMETRY = 'arrival:telemetry';
const MESSAGES = 'arrival:messages';
const LIST = 'arrival:list';
const DEAD_LETTERS = 'arrival:dead-letters';
/** How many shards the queue has; absent: it is not divided (pipeline/queue/keys.ts). */
const SHARDS = 'arrival:shards';
/** Between the messages of an entry (pipeline/queue/frame.ts). */
const SEPARATOR = '\x1e';
const BATCH = 1000;
/** Entries of a stream, of up to 64 messages each. */
const ENTRIES = 100;
/** Bins of a run in run.json. */
const MOST_BINS = 300;
/** s before the run: what the counters stood at when it began */
const BASELINE = 3;

interface Said {
  cpu_percent?: number;
  rss_mb?: number;
  gauges?: Record<string, number>;
  counters?: Record<string, number>;
  clock?: { offset_us: number; bound_us: number | null };
}

interface Sample extends Said {
  t: number;
}

/** @param epoch start of the run, µs on Redis' clock */
export async function readTelemetry(
  redis: Redis,
  epoch: number,
): Promise<{ resources: Resource[]; clocks: Clock['processes'] }> {
  const samples = new Map<string, Sample[]>();
  for await (const fields of scan(redis, TELEMETRY, String(Math.floor(epoch / 1000) - BASELINE * 1000))) {
    const { process, data, at } = fields;
    if (process === undefined || data === undefined) continue;
    const t = Math.floor((Number(at) - epoch) / 1e6);
    samples.set(process, [...(samples.get(process) ?? []), { t, ...(JSON.parse(data) as Said) }]);
  }
  const names = [...samples.keys()].sort();
  const resources = names.map((name) => resourceOf(name, samples.get(name) as Sample[]));
  const clocks = names.flatMap((name) => {
    const told = (samples.get(name) as Sample[]).filter(({ t, clock }) => t >= 0 && clock?.bound_us != null);
    const last = told.at(-1)?.clock;
    if (last === undefined) return [];
    const bound = Math.max(...told.map(({ clock }) => clock?.bound_us ?? 0));
    return [{ process: name, offset_ms: last.offset_us / 1000, bound_ms: bound / 1000 }];
  });
  return {
    resources: resources.filter(({ series, figures }) => series.length > 0 || figures !== null),
    clocks,
  };
}

function resourceOf(process: string, samples: Sample[]): Resource {
  const series = samples
    .filter(({ t, cpu_percent, rss_mb }) => t >= 0 && (cpu_percent != null || rss_mb != null))
    .map(({ t, cpu_percent, rss_mb }): Resource['series'][number] => [
      t,
      cpu_percent ?? null,
      rss_mb ?? null,
    ]);
  return { ...usageOf(process, series), figures: figuresOf(samples) };
}

export function usageOf(process: string, series: Resource['series']): Resource {
  const extent = (column: 1 | 2) => {
    const values = series.flatMap((row) => (row[column] === null ? [] : [row[column]]));
    if (values.length === 0) return { mean: null, max: null };
    return { mean: values.reduce((a, b) => a + b, 0) / values.length, max: Math.max(...values) };
  };
  return { process, cpu_percent: extent(1), rss_mb: extent(2), series };
}

/** Gauges as means, counters as what they grew by, in bins of time. */
function figuresOf(samples: Sample[]): Figures | null {
  const width = Math.floor(Math.max(0, samples.at(-1)?.t ?? 0) / MOST_BINS) + 1;
  const bins = [...new Set(samples.filter(({ t }) => t >= 0).map(({ t }) => Math.floor(t / width) * width))];
  const columns = (
    of: 'gauges' | 'counters',
    value: (name: string, inBin: Sample[], before: Sample[]) => number | null,
  ) => {
    const names = new Set(samples.flatMap((sample) => Object.keys(sample[of] ?? {})));
    return Object.fromEntries(
      [...names].map((name) => [
        name,
        bins.map((bin) => {
          const inBin = samples.filter(({ t }) => t >= bin && t < bin + width);
          return value(
            name,
            inBin,
            samples.filter(({ t }) => t < bin),
          );
        }),
      ]),
    );
  };
  const gauges = columns('gauges', (name, inBin) => {
    const values = inBin.flatMap(({ gauges }) => gauges?.[name] ?? []);
    return values.length === 0 ? null : rounded(values.reduce((a, b) => a + b, 0) / values.length);
  });
  const counts = columns('counters', (name, inBin, before) => {
    const [start, ...rest] = [...before.slice(-1), ...inBin].flatMap(
      ({ counters }) => counters?.[name] ?? [],
    );
    if (start === undefined || rest.length === 0) return null;
    let [grown, last] = [0, start];
    for (const value of rest) {
      grown += value < last ? value : value - last;
      last = value;
    }
    return rounded(grown);
  });
  if (Object.keys(gauges).length + Object.keys(counts).length === 0) return null;
  return { bin_s: width, t: bins, gauges, counts };
}

function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

/** Looks in the queue and then among the dead letters: in this order nothing moves from the one to the other unseen. */
export async function findMissing(redis: Redis, found: (body: string, fate: Fate) => void): Promise<void> {
  const shards = Array.from(
    { length: Number((await redis.get(SHARDS)) ?? 0) },
    (_, shard) => `arrival:{${shard}}`,
  );
  for (const stream of [MESSAGES, ...shards.map((shard) => `${shard}:messages`)]) {
    for await (const { frame = '' } of scan(redis, stream, '-')) {
      for (const one of frame.split(SEPARATOR)) found(bodyOf(one), 'queued');
    }
  }
  for (let from = 0; ; from += BATCH) {
    const frames = await redis.lrange(LIST, from, from + BATCH - 1);
    for (const frame of frames) found(bodyOf(frame), 'queued');
    if (frames.length < BATCH) break;
  }
  for (const stream of [DEAD_LETTERS, ...shards.map((shard) => `${shard}:dead-letters`)]) {
    for await (const { frame } of scan(redis, stream, '-')) found(bodyOf(frame), 'dead_lettered');
  }
}

/** The third part of a frame: `<target>\n<stamps>\n<body>`. */
function bodyOf(frame = ''): string {
  return frame.split('\n').slice(2).join('\n');
}

async function* scan(redis: Redis, stream: string, from: string): AsyncGenerator<Record<string, string>> {
  for (let start = from; ; ) {
    const entries = await redis.xrange(stream, start, '+', 'COUNT', ENTRIES);
    for (const [, fields] of entries) {
      const pairs = fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1] as string]] : []));
      yield Object.fromEntries(pairs);
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < ENTRIES) return;
    start = `(${last[0]}`;
  }
}
