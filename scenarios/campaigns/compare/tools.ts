/** k6 and Artillery side by side: figures of the tools from their runs, for terminal and page. */
import type { Addition } from '../../../reports/comparison/comparison.ts';
import { latencyOf, type Run } from '../../../reports/contract/run.ts';
import { compact, count, exactly, ms } from '../../../reports/format.ts';
import { type Limit, limitText } from './limits.ts';
import type { WrkFigures } from './wrk.ts';

interface Row {
  name: string;
  of: (run: Run) => number | null;
  digits?: number;
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
    of: ({ latency }: Run) => latencyOf(latency, 'schedule')[p],
  })),
  { name: 'CPU of the generator a message, µs', of: ({ facts }) => facts.generator.cpu_us_per_message },
  { name: 'memory of the generator, most, MB', of: ({ facts }) => facts.generator.memory_mb },
  { name: 'messages scheduled', of: ({ account }) => account.scheduled, digits: 0 },
  { name: 'messages arrived', of: ({ account }) => account.arrived, digits: 0 },
];

const NOTES = [
  "Equal: schedule, flows and their order, ids, bodies, subscriber, clock, account, histograms, rules of the verdict, pipeline: both have k6's.",
  `Different by definition: what is HTTP here ends with the last byte of an answer for both; Artillery's own http.response_time ends with the first, in whole milliseconds. k6 sends from native code, Artillery from one JavaScript thread, in which requests wait for one another: that is lateness, part of arrival, and no part of "from send".`,
  'Generator and pipeline share the cores of one host, so a generator that uses more of them slows the pipeline too.',
];

/** A column for each run. */
export function generatorsOf(runs: readonly Run[]): Addition {
  const shown = (value: number | null, digits?: number) =>
    value === null ? 'n/a' : digits === undefined ? compact(value) : exactly(value, digits);
  return {
    title: 'Generators',
    caption: 'Each run, in the order they were made',
    head: ['figure', ...runs.map(({ run }) => run.tool.name)],
    rows: [
      ['verdict', ...runs.map(({ verdict }) => verdict.result)],
      ['account', ...runs.map(({ account }) => (account.balanced ? 'balances' : 'OPEN'))],
      ...ROWS.map(({ name, of, digits }) => [name, ...runs.map((run) => shown(of(run), digits))]),
    ],
    notes: NOTES,
  };
}

/** The rates at which tools become the bottleneck. wrk sends as fast as it gets answers, so its times are those of a full pipeline. */
export function reachOf(limits: readonly Limit[], wrk?: WrkFigures): Addition | undefined {
  if (limits.length === 0 && wrk === undefined) return undefined;
  return {
    title: 'Reach',
    caption: 'Requests a second',
    head: ['tool', 'keeps up with', 'is the bottleneck from'],
    rows: limits.map(({ tool, kept, tooMuch }) => [
      tool,
      kept === 0 ? 'none tried' : String(kept),
      tooMuch === undefined ? 'none tried' : String(tooMuch),
    ]),
    notes: [...limits.map(limitText), ...(wrk === undefined ? [] : [wrkText(wrk)])],
  };
}

function wrkText({ connections, rate, p50, p99, refused }: WrkFigures): string {
  return `wrk: ${count(rate)} requests/s over ${connections} connections, as fast as it is answered: HTTP p50 ${ms(p50)} ms, p99 ${ms(p99)} ms; ${refused === 0 ? 'all' : `all but ${refused}`} accepted. Whether and when anything arrived, when a request was due, and what became of each, it cannot know.`;
}
