/** Files made from the data that the page holds; nothing is asked for. */
import {
  type Brief,
  type Interval,
  type Latency,
  latencyOf,
  type Messages,
  type Run,
} from '../contract/run.ts';

/** Hands a file to the reader's browser. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const COUNTS = ['requests', 'scheduled', 'sent', 'accepted', 'rejected', 'failed'] as const;
const PLAIN = ['t', 'phase', ...COUNTS, 'arrived', 'arrived_bytes', 'backlog', 'due', 'in_flight'] as const;
const BRIEF: (keyof Brief)[] = ['count', 'mean', 'p50', 'p95', 'p99', 'max'];

type Cell = string | number | null | undefined;
type Column<Row> = [head: string, value: (row: Row) => Cell];

/** The timeline, a line a second; latencies in ms, what is not known empty. */
export function csv(run: Run): string {
  type OfSecond = Column<Interval>;
  const { timeline } = run;
  return lines(timeline, [
    ...PLAIN.map((key): OfSecond => [key, (second) => second[key]]),
    ...(['arrival', 'from_send', 'http'] as const).flatMap((name) =>
      BRIEF.map((key): OfSecond => [`${name}_${key}${key === 'count' ? '' : '_ms'}`, (s) => s[name]?.[key]]),
    ),
    ...run.stages.map(({ name }): OfSecond => [`${name}_mean_ms`, (second) => second.stages?.[name]]),
    ['canary_ms', (second) => second.canary_ms],
    ['late_max_ms', (second) => second.late_max_ms],
    ['generator_cpu_percent', (second) => second.generator?.cpu_percent],
    ['generator_rss_mb', (second) => second.generator?.rss_mb],
  ]);
}

type Slow = Messages['slowest'][number];
type Named = Messages['named'][number];
/** A message of either list: what the other has is absent. */
type Message = { list: keyof Messages } & Partial<Named & Omit<Slow, keyof Named>>;

const ABOUT = ['list', 'id', 'end', 'target', 'flow', 'phase', 'due', 'subscriber', 'arrival_ms'] as const;

/** The messages by id, the slowest deliveries first; null where there are none. */
export function messagesCsv(run: Run): string | null {
  const { messages } = run;
  const all: Message[] = [
    ...(messages?.slowest ?? []).map((row): Message => ({ list: 'slowest', ...row })),
    ...(messages?.named ?? []).map((row): Message => ({ list: 'named', ...row })),
  ];
  if (all.length === 0) return null;
  return lines(all, [
    ...ABOUT.map((key): Column<Message> => [key, (row) => row[key]]),
    ...run.stages.map(({ name }): Column<Message> => [`${name}_ms`, ({ stages_ms }) => stages_ms?.[name]]),
    ['delivered', ({ delivered }) => delivered],
    ['trace', ({ trace }) => trace],
  ]);
}

/** Heads and rows as RFC 4180 has them. */
function lines<Row>(rows: readonly Row[], columns: Column<Row>[]): string {
  const all = [
    columns.map(([name]) => name),
    ...rows.map((row) => columns.map(([, value]) => quoted(value(row)))),
  ];
  return all.map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** A field of CSV; what a spreadsheet would take for a formula is kept text. */
function quoted(value: Cell): string {
  if (typeof value !== 'string') return value == null ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The histograms of the measured phases as a HdrHistogram log, an interval for each; null where there are none. */
export function hlog(whole: Run): string | null {
  const { run, latency } = whole;
  const all: [string, Latency][] = [
    ['arrival', latency.arrival],
    ['from_send', latency.from_send],
    ['http', latency.http],
    ...whole.stages.map(({ name }): [string, Latency] => [`stage_${name}`, latencyOf(latency, name)]),
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
