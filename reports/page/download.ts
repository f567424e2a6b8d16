/** Files made from the data that the page holds; nothing is asked for. */
import { type Brief, type Interval, type Latency, type Run, STAGES } from '../contract/run.ts';

/** Hands a file to the reader's browser. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const MESSAGES = ['requests', 'scheduled', 'sent', 'accepted', 'rejected', 'failed'] as const;
const PLAIN = ['t', 'phase', ...MESSAGES, 'arrived', 'backlog'] as const;
const BRIEF: (keyof Brief)[] = ['count', 'mean', 'p50', 'p95', 'p99', 'max'];

type Cell = string | number | null | undefined;
type Column = [head: string, value: (second: Interval) => Cell];

/** The timeline, a line a second; latencies in ms, what is not known empty. RFC 4180. */
export function csv({ timeline }: Run): string {
  const columns: Column[] = [
    ...PLAIN.map((key): Column => [key, (second) => second[key]]),
    ...(['arrival', 'from_send', 'http'] as const).flatMap((name) =>
      BRIEF.map((key): Column => [`${name}_${key}${key === 'count' ? '' : '_ms'}`, (s) => s[name]?.[key]]),
    ),
    ...STAGES.map((stage): Column => [`${stage}_mean_ms`, (second) => second.stages?.[stage]]),
    ['canary_ms', (second) => second.canary_ms],
    ['generator_cpu_percent', (second) => second.generator?.cpu_percent],
    ['generator_rss_mb', (second) => second.generator?.rss_mb],
  ];
  const lines = [
    columns.map(([name]) => name),
    ...timeline.map((second) => columns.map(([, value]) => quoted(value(second)))),
  ];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** A field of CSV; what a spreadsheet would take for a formula is kept text. */
function quoted(value: Cell): string {
  if (typeof value !== 'string') return value == null ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The histograms of the measured phases as a HdrHistogram log, an interval for each; null where there are none. */
export function hlog({ run, latency }: Run): string | null {
  const all: [string, Latency][] = [
    ['arrival', latency.arrival],
    ['from_send', latency.from_send],
    ['http', latency.http],
    ...STAGES.map((stage): [string, Latency] => [`stage_${stage}`, latency.stages[stage]]),
  ];
  const known = all.filter(([, { histogram }]) => histogram !== null);
  if (known.length === 0) return null;
  const start = Date.parse(run.started) / 1e3;
  const length = run.ended === null ? 0 : Date.parse(run.ended) / 1e3 - start;
  return [
    `#[arrival ${run.id}: µs, measured phases as a whole]`,
    '#[Histogram log format version 1.3]',
    `#[StartTime: ${start.toFixed(3)} (seconds since epoch), ${run.started}]`,
    `#[BaseTime: ${start.toFixed(3)} (seconds since epoch)]`,
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ...known.map(
      ([tag, { max, histogram }]) =>
        `Tag=${tag},0.000000,${length.toFixed(6)},${((max ?? 0) / 1e3).toFixed(6)},${histogram}`,
    ),
    '',
  ].join('\n');
}
