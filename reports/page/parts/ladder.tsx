import type { Probe } from '../../contract/run.ts';
import { count, duration, figure, ms, msUnit, rate } from '../../format.ts';
import { Chart } from '../chart.tsx';

interface LadderProps {
  probes: Probe[];
  title: string;
  /** ms; null: the run has no limit of p99. */
  limit: number | null;
}

/** The rates that a search for the capacity tried, one after the other, and which of them held. */
export function Ladder({ probes, title, limit }: LadderProps) {
  const of = (outcome: Outcome) => probes.map((probe) => (outcomeOf(probe) === outcome ? probe.rate : null));
  const open = probes.some(({ undecided }) => undecided);
  return (
    <Chart
      kind="runs"
      name="Search for the capacity"
      unit="requests per second"
      title={title}
      note={`● held${limit === null ? '' : `, with p99 below ${msUnit(limit)}`}, ○ did not${open ? ', small ○ undecided' : ''}. The rest of this page is of one run.`}
      x={probes.map((_, i) => i + 1)}
      names={probes.map((probe, i) => `run ${i + 1}: ${said(probe)}`)}
      format={figure}
      whole
      lines={[
        { label: 'rate', values: probes.map(({ rate }) => rate), colour: 'grey' },
        { label: 'held', values: of('held'), colour: 'pass', as: 'points' },
        { label: 'did not hold', values: of('did not hold'), colour: 'fail', as: 'points' },
        ...(open
          ? [
              {
                label: 'undecided',
                values: of('was undecided'),
                colour: 'invalid' as const,
                as: 'points' as const,
              },
            ]
          : []),
      ]}
      height={220}
      wide
      tune={(options, colour) => ({
        ...options,
        scales: { ...options.scales, x: { time: false, range: [0.5, probes.length + 0.5] } },
        axes: (options.axes ?? []).map((axis, i) => (i === 0 ? { ...axis, ...NUMBERS } : axis)),
        // By label: a line without a value is not drawn.
        series: options.series.map((line, i) =>
          i < 2
            ? line
            : {
                ...line,
                points: {
                  ...line.points,
                  size: line.label === 'undecided' ? 6 : 10,
                  width: 2,
                  ...(line.label !== 'held' && { fill: colour('paper') }),
                },
              },
        ),
      })}
    />
  );
}

/** The axis of x: whole numbers of runs. */
const NUMBERS = {
  label: 'run of the search',
  incrs: [1, 2, 5, 10, 20, 50],
  values: (_u: unknown, splits: number[]) => splits.map((at) => (Number.isInteger(at) ? count(at) : null)),
};

type Outcome = 'held' | 'did not hold' | 'was undecided';

function outcomeOf({ held, undecided }: Probe): Outcome {
  if (undecided) return 'was undecided';
  return held ? 'held' : 'did not hold';
}

function said(probe: Probe): string {
  const { rate: perSecond, seconds, p99_ms } = probe;
  return `${rate(perSecond, 'requests')} for ${duration(seconds)} ${outcomeOf(probe)}, p99 ${ms(p99_ms)} ms`;
}
