/** The seconds of several instances together. All count from one moment of Redis' clock, so second t of one is second t of the others. */
import { build, type Histogram, HistogramLogReader, HistogramLogWriter } from 'hdr-histogram-js';
import { briefOf, FORM } from '../latency.ts';
import { type Brief, type Interval, STAGES } from '../run.ts';
import { addBriefs } from './latencies.ts';
import type { Part } from './parts.ts';

const TAGS = ['arrival', 'from_send', 'http'] as const;
type Tag = (typeof TAGS)[number];

/** The timeline and the histogram log of all. Of each log one second at a time is in memory. */
export function mergeSeconds(parts: readonly [Part, ...Part[]]): { timeline: Interval[]; log: string } {
  const lines: string[] = [];
  const started = Date.parse(parts[0].run.run.started);
  const writer = logWriter((text) => lines.push(text), parts[0].run.run.id, started);
  const logs = parts.map(({ log }) => new Seconds(log));
  const rows = parts.map(({ run }) => new Map(run.timeline.map((row) => [row.t, row])));
  const length = Math.max(...parts.map(({ run }) => (run.timeline.at(-1)?.t ?? -1) + 1));
  const timeline: Interval[] = [];
  for (let t = 0; t < length; t++) {
    const there = rows.flatMap((row) => row.get(t) ?? []);
    // A log may go on where the timeline of its report ends: that part was cut off, and its report counts.
    const found = logs.map((log, i) => (rows[i]?.has(t) ? log.at(t) : new Map<string, Histogram>()));
    const histograms = new Map<Tag, Histogram>();
    for (const tag of TAGS) {
      const own = found.flatMap((one) => one.get(tag) ?? []);
      if (own.length === 0) continue;
      const all = build(FORM);
      for (const one of own) all.add(one);
      histograms.set(tag, all);
      all.tag = tag;
      all.startTimeStampMsec = started + t * 1000;
      all.endTimeStampMsec = started + (t + 1) * 1000;
      writer.outputIntervalHistogram(all);
    }
    timeline.push(mergeSecond(t, there, histograms));
  }
  return { timeline, log: lines.join('') };
}

function logWriter(write: (text: string) => void, run: string, started: number): HistogramLogWriter {
  const writer = new HistogramLogWriter(write);
  writer.outputComment(`[arrival ${run}: µs, one interval a second]`);
  writer.outputLogFormatVersion();
  writer.outputStartTime(started);
  writer.outputComment(`[BaseTime: ${(started / 1000).toFixed(3)} (seconds since epoch)]`);
  writer.baseTime = started;
  writer.outputLegend();
  return writer;
}

/** A histogram log that is read second by second. */
class Seconds {
  readonly #reader: HistogramLogReader;
  #next: Histogram | null;

  constructor(log: string) {
    // One that was killed may have left half a line.
    this.#reader = new HistogramLogReader(log.slice(0, log.lastIndexOf('\n') + 1), 32, false);
    this.#next = this.#reader.nextIntervalHistogram();
  }

  /** The histograms of a second by their tag; seconds are asked for in ascending order. */
  at(second: number): Map<string, Histogram> {
    const found = new Map<string, Histogram>();
    while (this.#next !== null && this.#secondOf(this.#next) <= second) {
      if (this.#secondOf(this.#next) === second) found.set(this.#next.tag, this.#next);
      this.#next = this.#reader.nextIntervalHistogram();
    }
    return found;
  }

  #secondOf({ startTimeStampMsec }: Histogram): number {
    return Math.round(startTimeStampMsec / 1000 - this.#reader.baseTimeSec);
  }
}

function mergeSecond(t: number, rows: readonly Interval[], histograms: Map<Tag, Histogram>): Interval {
  const sum = (of: (row: Interval) => number) => rows.reduce((total, row) => total + of(row), 0);
  return {
    t,
    phase: rows.find(({ phase }) => phase !== null)?.phase ?? null,
    requests: sum(({ requests }) => requests),
    scheduled: sum(({ scheduled }) => scheduled),
    sent: sum(({ sent }) => sent),
    accepted: sum(({ accepted }) => accepted),
    rejected: sum(({ rejected }) => rejected),
    failed: sum(({ failed }) => failed),
    arrived: sum(({ arrived }) => arrived),
    backlog: sum(({ backlog }) => backlog),
    arrival: mergeBriefs(rows, 'arrival', histograms),
    from_send: mergeBriefs(rows, 'from_send', histograms),
    http: mergeBriefs(rows, 'http', histograms),
    arrival_bins: mergeBins(rows.flatMap(({ arrival_bins }) => (arrival_bins ? [arrival_bins] : []))),
    stages: mergeStages(rows),
    canary_ms: most(rows.map(({ canary_ms }) => canary_ms)),
    // Each has cores of its own, so the sum of all would be of nothing.
    generator: {
      cpu_percent: most(rows.map(({ generator }) => generator?.cpu_percent ?? null)),
      rss_mb: most(rows.map(({ generator }) => generator?.rss_mb ?? null)),
    },
  };
}

/** Without the histogram of one of them there is no percentile. */
function mergeBriefs(rows: readonly Interval[], tag: Tag, histograms: Map<Tag, Histogram>): Brief | null {
  const all = addBriefs(rows.flatMap((row) => row[tag] ?? []));
  const histogram = histograms.get(tag);
  if (all === null || histogram?.totalCount !== all.count) return all;
  const { count, mean, max } = all;
  return briefOf({ histogram, count, sum: (mean ?? 0) * count * 1000, min: 0, max: (max ?? 0) * 1000 });
}

/** @param all the number of the first bin, then counts */
function mergeBins(all: readonly number[][]): number[] | null {
  const counts = new Map<number, number>();
  for (const [first = 0, ...bins] of all) {
    for (const [i, n] of bins.entries()) counts.set(first + i, (counts.get(first + i) ?? 0) + n);
  }
  if (counts.size === 0) return null;
  const first = Math.min(...counts.keys());
  const last = Math.max(...counts.keys());
  return [first, ...Array.from({ length: last - first + 1 }, (_, i) => counts.get(first + i) ?? 0)];
}

/** Means, weighted with the deliveries that arrived. */
function mergeStages(rows: readonly Interval[]): Interval['stages'] {
  const told = rows.filter(({ stages }) => stages !== null);
  if (told.length === 0) return null;
  const mean = (stage: (typeof STAGES)[number]) => {
    let [sum, count] = [0, 0];
    for (const { stages, arrived } of told) {
      const value = stages?.[stage] ?? null;
      if (value === null) continue;
      sum += value * arrived;
      count += arrived;
    }
    return count > 0 ? sum / count : null;
  };
  return Object.fromEntries(STAGES.map((stage) => [stage, mean(stage)])) as Interval['stages'];
}

/** The largest of what is known. */
export function most(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? Math.max(...known) : null;
}
