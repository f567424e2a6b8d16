/** k6 and Artillery side by side: what `npm run compare` says of their runs. */
import type { Run } from '../../reports/run.ts';
import { type Limit, limitText } from './limits.ts';
import type { WrkFigures } from './wrk.ts';

export interface Row {
  name: string;
  of: (run: Run) => number | null;
  digits?: number;
}

const lengthOf = ({ run }: Run) => run.profile.phases.reduce((sum, { duration_s }) => sum + duration_s, 0);
const generator = ({ run, resources }: Run) => resources.find(({ process }) => process === run.tool.name);

/** µs of CPU of the whole generator, senders and subscribers, for each message. */
export function cpuPerMessage(run: Run): number | null {
  const percent = generator(run)?.cpu_percent.mean;
  if (percent == null || run.account.scheduled === 0) return null;
  return (percent / 100) * lengthOf(run) * (1e6 / run.account.scheduled);
}

const ROWS: Row[] = [
  ...(['arrival', 'from_send', 'http'] as const).flatMap((series) =>
    (['p50', 'p99'] as const).map((p) => ({
      name: `${series.replace('_', ' ')} ${p}, ms`,
      of: ({ latency }: Run) => latency[series][p],
    })),
  ),
  ...(['p50', 'p99'] as const).map((p) => ({
    name: `lateness (schedule) ${p}, ms`,
    of: ({ latency }: Run) => latency.stages.schedule[p],
  })),
  { name: 'CPU of the generator a message, µs', of: cpuPerMessage },
  { name: 'memory of the generator, most, MB', of: (run) => generator(run)?.rss_mb.max ?? null },
  { name: 'messages scheduled', of: ({ account }) => account.scheduled, digits: 0 },
  { name: 'messages arrived', of: ({ account }) => account.arrived, digits: 0 },
];

const NOTES = `Equal: schedule, flows and their order, ids, bodies, subscribers' topics, clock, histograms, rules of the verdict, pipeline.
Different by definition: what is HTTP here ends with the last byte of an answer for both; Artillery's own http.response_time ends with the
first, in whole milliseconds. k6 sends from native code, Artillery from one JavaScript thread, in which requests wait for one another: that is
lateness, part of arrival, and no part of "from send". k6 reads its sockets natively, Artillery's plugin with mqtt.js, which
is part of delivery. Generator and pipeline share the cores of one host, so a generator that uses more of them slows the pipeline too.`;

/** A table with a column for each run, a line on how far arrival agrees, and what is to be known of it. */
export function tableOf(runs: readonly Run[], limits: readonly Limit[] = [], wrk?: WrkFigures): string {
  const width = Math.max(...ROWS.map(({ name }) => name.length));
  const line = (name: string, cells: string[]) =>
    `${name.padEnd(width)}${cells.map((cell) => cell.padStart(13)).join('')}`;
  const shown = (value: number | null, digits?: number) =>
    value === null
      ? 'n/a'
      : digits === undefined
        ? Number(value.toPrecision(3)).toString()
        : value.toFixed(digits);
  return [
    line(
      '',
      runs.map(({ run }) => run.tool.name),
    ),
    line(
      'verdict',
      runs.map(({ verdict }) => verdict.result),
    ),
    line(
      'account',
      runs.map(({ account }) => (account.balanced ? 'balances' : 'OPEN')),
    ),
    ...ROWS.map(({ name, of, digits }) =>
      line(
        name,
        runs.map((run) => shown(of(run), digits)),
      ),
    ),
    '',
    ...agreement(runs),
    '',
    ...(limits.length > 0 ? [...limits.map(limitText), ''] : []),
    ...(wrk === undefined ? [] : [...wrkRows(wrk), '']),
    NOTES,
  ].join('\n');
}

/** wrk sends the next request when the last one is answered, so its times are those of a full pipeline. */
function wrkRows({ connections, rate, p50, p99, refused }: WrkFigures): string[] {
  return [
    `wrk        ${rate.toFixed(0)} requests/s over ${connections} connections, as fast as it is answered: HTTP p50 ${p50.toPrecision(3)} ms, p99 ${p99.toPrecision(3)} ms`,
    `           ${refused === 0 ? 'all' : `all but ${refused}`} accepted; whether and when anything arrived, when a request was due, and what became of each, it cannot know`,
  ];
}

/** Whether the tools agree to 10 % and the bound of their clocks, over the median of their runs: the figures, and the answer. */
export function agreement(runs: readonly Run[]): string[] {
  const of = (tool: string) => runs.filter(({ run }) => run.tool.name === tool);
  const bound = Math.max(...runs.map(({ clock }) => clock?.bound_ms ?? 0));
  const compared = (['arrival', 'from_send'] as const).flatMap((series) =>
    (['p50', 'p99'] as const).flatMap((p) => {
      const [k6, artillery] = ['k6', 'artillery'].map((tool) =>
        median(of(tool).flatMap(({ latency }) => latency[series][p] ?? [])),
      );
      if (k6 === undefined || artillery === undefined) return [];
      const name = `${series.replace('_', ' ')} ${p}`;
      const apart = artillery - k6;
      const within = Math.abs(apart) <= bound + 0.1 * k6;
      const sign = apart < 0 ? '−' : '+';
      const line = `${name}: ${k6.toFixed(3)} and ${artillery.toFixed(3)} ms, ${sign}${Math.abs(apart).toFixed(3)} ms`;
      return [{ series, name, line, within }];
    }),
  );
  if (compared.length === 0) return [];
  const invalid = runs.filter(({ verdict }) => verdict.result === 'invalid').length;
  const agree = compared.filter(({ series }) => series === 'arrival').every(({ within }) => within);
  const answers = compared.map(({ name, within }) => `${name} ${within ? 'yes' : 'no'}`);
  return [
    `medians of ${of('k6').length} runs of k6 and ${of('artillery').length} of Artillery`,
    ...compared.map(({ line }) => line),
    `agree within 10 % and the clock bound of ${bound.toFixed(3)} ms: ${agree ? 'yes' : 'no'} (${answers.join(', ')})`,
    ...(invalid > 0
      ? [`${invalid} of ${runs.length} runs are invalid: their figures tell of the generator`]
      : []),
  ];
}

function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
