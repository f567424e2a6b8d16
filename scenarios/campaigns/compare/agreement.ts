/** Whether k6 and Artillery measure the same arrival, within 10 %. Each measures both ends with one clock, so the clock bound does not matter. */
import type { Addition } from '../../../reports/comparison/comparison.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { exactly } from '../../../reports/format.ts';

/** The allowed difference, as a share of k6's figure. */
const SHARE = 0.1;

export interface Agreement {
  /** Undefined: unknown, as runs are in doubt or one tool is missing. */
  agree: boolean | undefined;
  /** The table for terminal and page. */
  shown: Addition;
}

export function agreementOf(runs: readonly Run[]): Agreement {
  const of = (tool: string) => runs.filter(({ run }) => run.tool.name === tool);
  const compared = (['arrival', 'from_send'] as const).flatMap((series) =>
    (['p50', 'p99'] as const).flatMap((p) => {
      const [k6, artillery] = ['k6', 'artillery'].map((tool) =>
        median(of(tool).flatMap(({ latency }) => latency[series][p] ?? [])),
      );
      if (k6 === undefined || artillery === undefined) return [];
      const [apart, allowed] = [artillery - k6, SHARE * k6];
      return { series, p, k6, artillery, apart, allowed, within: Math.abs(apart) <= allowed };
    }),
  );
  const doubted = runs.filter(({ facts }) => facts.doubts.some(({ claim }) => claim === 'arrival')).length;
  const asked = compared.filter(({ series }) => series === 'arrival');
  const agree = asked.length < 2 || doubted > 0 ? undefined : asked.every(({ within }) => within);
  const apart = asked.filter(({ within }) => !within).map(({ p }) => p);
  const answer =
    asked.length < 2
      ? 'Whether the tools agree is unknown: one of them measured nothing.'
      : doubted > 0
        ? `Whether the tools agree is unknown: the arrival of ${doubted} of ${runs.length} runs is in doubt, as the generator is part of it.`
        : agree
          ? 'The tools agree on p50 and p99 of arrival.'
          : `The tools do not agree on ${apart.join(' and ')} of arrival.`;
  return {
    agree,
    shown: {
      title: 'Agreement',
      caption: `Medians of the runs (k6 ${of('k6').length}, Artillery ${of('artillery').length}), network ${networksOf(runs)}, ms`,
      head: ['figure', 'k6', 'Artillery', 'apart', 'allowed', 'within'],
      rows: compared.map(({ series, p, k6, artillery, apart, allowed, within }) => [
        `${series.replace('_', ' ')} ${p}`,
        exactly(k6, 3),
        exactly(artillery, 3),
        `${apart < 0 ? '' : '+'}${exactly(apart, 3)}`,
        `±${exactly(allowed, 3)}`,
        within ? 'yes' : 'NO',
      ]),
      notes: [
        answer,
        `Allowed: ${SHARE * 100} % of k6's. The answer is of arrival; "from send" is without the tools' lateness.`,
      ],
    },
  };
}

function networksOf(runs: readonly Run[]): string {
  return [...new Set(runs.map(({ run }) => run.network))].join(', ');
}

function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
