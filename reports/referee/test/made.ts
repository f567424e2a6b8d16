/** A small result, made up. */
import { cellsOf } from '../cells.ts';
import { PERCENTILES, type Quantiles, type Referee, type RefereeRun, type ToolEntry } from '../result.ts';

/** Truths by name: p50, p90, p99, p99.9 and the maximum, ms. */
const TRUTHS = { constant: [2, 2, 2, 2, 2], freeze: [2, 2, 442, 497, 502] };
type TruthName = keyof typeof TRUTHS;

const ENTRY = { version: '1.0', why: 'It is made up.', install: 'make <it>' };
const TOOLS: ToolEntry[] = [
  { ...ENTRY, name: 'loop', title: 'a *closed* <loop>', model: 'closed' },
  { ...ENTRY, name: 'paced', title: 'paced', model: 'paced' },
  { ...ENTRY, name: 'open', title: 'open', model: 'open' },
  { ...ENTRY, name: 'send', title: 'run.send()', model: 'open', own: true },
  { ...ENTRY, name: 'absent', title: 'absent', model: 'open', version: null },
];

/** What each tool reports under each truth; undefined: nothing. */
const REPORTED: Record<string, Record<TruthName, (number | undefined)[]>> = {
  send: { constant: [2.1, 2.1, 2.2, 2.2, 2.3], freeze: [2.1, 2.1, 442, 497, 502] },
  open: { constant: [2.4, 2.5, 2.8, 3, 3], freeze: [2.4, 2.5, 443, 498, 502] },
  paced: { constant: [2.1, undefined, undefined, undefined, 2.2], freeze: [2.1, 2.1, 2.2, 500, 502] },
  loop: { constant: [2.1, 2.1, 2.2, 2.2, 2.3], freeze: [2.1, 2.1, 2.85, 500, 502] },
};

const keyed = (values: readonly (number | undefined)[]) =>
  Object.fromEntries(
    values.flatMap((value, i) => (value === undefined ? [] : [[`${PERCENTILES[i]}_ms`, value]])),
  ) as Omit<Quantiles, 'count' | 'curve'>;

function quantiles(values: readonly number[]): Quantiles {
  const at = [0.5, 0.9, 0.99, 0.999, 1];
  return { count: 2400, ...keyed(values), curve: values.map((value, i) => [at[i] ?? 1, value]) };
}

/** One run of each tool under each truth but of the paced one, whose run under freeze is not used. */
export function madeResult(): Referee {
  const failed = { reset: 0, lost: 0, refused_connections: 0 };
  const requests = { begun: 2400, answered: 2400, ...failed, connections: 20 };
  const all = Object.entries(REPORTED).flatMap(([tool, under]) =>
    Object.entries(under).map(([truth, values]) => ({ tool, truth: truth as TruthName, values })),
  );
  const runs = all.map(({ tool, truth, values }, i): RefereeRun => {
    const used = tool !== 'paced' || truth !== 'freeze';
    return {
      ...{ tool, truth, repeat: 1, started: '2026-11-29T02:31:07.000Z', cpu_us: 90, requests, used },
      command: `${tool} -o reports/runs/now/${truth}-${tool}-1/out http://127.0.0.1:${30000 + i}/`,
      reported: {
        ...keyed(values),
        ...(tool === 'send' && { sent: keyed(values) }),
        requests: { done: 2400 },
        said: tool === 'open' ? ['too <few> VUs'] : [],
      },
      served: quantiles(TRUTHS.constant),
      gaps: { median_ms: 5, p99_ms: 5.4, max_ms: 9, late_p99_ms: 0.4 },
      host: { busy: 0.4, steal: 0 },
      ...(used ? {} : { why_not: '20 % of the host was stolen' }),
    };
  });
  const truths = Object.entries(TRUTHS).map(([name, values]) => {
    return { name, title: `The ${name}`, about: `It is ${name}.`, due: quantiles(values) };
  });
  const cells = cellsOf(runs, new Map(truths.map(({ name, due }) => [name, due])));
  return {
    schema: 'arrival/referee/1',
    started: '2026-11-29T02:31:07.000Z',
    machine: { cpu: 'a CPU', cores: 2, kernel: '6.18.0' },
    load: { rate: 200, connections: 20, seconds: 12, repeats: 1 },
    ...{ truths, tools: TOOLS, runs, cells },
  };
}
