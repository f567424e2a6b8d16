import type { Latency, Run, Step } from '../../contract/run.ts';
import { clock, count, figure, ms, percent, plural } from '../../format.ts';
import { type PercentileKey, percentile, protocolOf } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { type Column, LongTable } from '../table.tsx';

/** A column of latencies in ms. */
function latencyColumn<Row>(
  head: string,
  of: (row: Row) => Latency,
  key: PercentileKey | 'max',
): Column<Row> {
  return { head, unit: 'ms', cell: (row) => ms(key === 'max' ? of(row).max : percentile(of(row), key)) };
}

/** A column of a figure, if any step has it. */
function known(
  steps: readonly Step[],
  key: 'backlog' | 'drained_s' | 'arrived_99_s',
  head: string,
  unit: string,
  text: (value: number | null | undefined) => string,
): Column<Step>[] {
  return steps.some((step) => step[key] != null) ? [{ head, unit, cell: (step) => text(step[key]) }] : [];
}

type Phase = Run['run']['profile']['phases'][number];
/** A phase of the profile; without a step it was not reached. */
interface Row {
  phase: Phase | undefined;
  step: Step | undefined;
}

/** Each phase: what was planned, what got through, how long it took. */
export function Phases({ run, sound }: PartProps) {
  const { steps } = run;
  const { phases } = run.run.profile;
  const closed = run.run.model === 'closed';
  const rows = Array.from(
    { length: Math.max(steps.length, phases.length) },
    (_, i): Row => ({ phase: phases[i], step: steps[i] }),
  );
  const arrival = (step: Step) => step.latency.arrival;
  const derived = new Map(steps.map((step, i) => [step, run.facts.phases[i]]));
  const largest = (step: Step) => {
    const { largest_stage = '', largest_share = null } = derived.get(step) ?? {};
    return largest_stage === '' ? '–' : `${largest_stage}, ${percent(largest_share)}`;
  };
  const figures: Column<Step>[] = [
    { head: 'requests', unit: 'requests/s', cell: (step) => figure(derived.get(step)?.requests_per_s) },
    {
      head: closed ? 'sent' : 'scheduled',
      unit: 'messages/s',
      cell: (step) => figure(step.scheduled_per_s),
    },
    { head: 'accepted', unit: 'messages/s', cell: (step) => figure(step.accepted_per_s) },
    { head: 'arrived', unit: 'deliveries/s', cell: (step) => figure(step.arrived_per_s) },
    ...(closed ? known(steps, 'backlog', 'backlog', 'at the end', count) : []),
    ...(closed ? known(steps, 'drained_s', 'drained', 'after, s', figure) : []),
    ...known(steps, 'arrived_99_s', '99 % arrived', 'after its start, s', figure),
    ...(sound
      ? [
          { head: 'samples', unit: 'deliveries', cell: (step: Step) => count(arrival(step).count) },
          latencyColumn('arrival p50', arrival, 'p50'),
          latencyColumn('p95', arrival, 'p95'),
          latencyColumn('p99', arrival, 'p99'),
          latencyColumn('max', arrival, 'max'),
          latencyColumn(`${protocolOf(run)} p99`, (step: Step) => step.latency.http, 'p99'),
          { head: 'largest stage', unit: 'of the mean', cell: largest },
        ]
      : []),
  ];
  if (rows.length === 0) return null;
  return (
    <div class={closed ? 'phases closed' : 'phases'} id="phases">
      <h3>Phases</h3>
      <LongTable
        what="phases"
        caption={`Messages belong to the phase they were ${closed ? 'sent' : 'due'} in, and deliveries to the phase of their message`}
        columns={[
          {
            head: 'phase',
            text: true,
            cell: ({ phase, step }) => (
              <>
                {(step ?? phase)?.name}
                <small>{when(step)}</small>
                <small>{about(run, phase, step)}</small>
              </>
            ),
          },
          ...figures.map(
            ({ cell, ...column }): Column<Row> => ({
              ...column,
              cell: ({ step }) => (step ? cell(step) : '–'),
            }),
          ),
        ]}
        rows={rows}
      />
    </div>
  );
}

function when(step: Step | undefined): string {
  return step ? `${clock(step.start_s)} – ${clock(step.start_s + step.duration_s)}` : 'not reached';
}

/** The plan of a phase, whether it counts, and whether it was cut off. */
function about({ run, steps }: Run, phase: Phase | undefined, step: Step | undefined): string {
  const [vus, measured] = [step ? step.vus : (phase?.vus ?? null), (step ?? phase)?.measured];
  const parts = measured ? [] : ['not measured'];
  if (vus === 0 || (phase?.arrival_rate === 0 && phase.ramp_to === null)) {
    parts.unshift('pause');
  } else if (vus !== null) {
    parts.unshift(plural(vus, 'VU'));
  } else if (phase && phase.arrival_rate !== null) {
    const to = phase.ramp_to === null ? '' : ` → ${figure(phase.ramp_to)}`;
    parts.unshift(`${figure(phase.arrival_rate)}${to} requests/s`);
  }
  const last = step !== undefined && step === steps.at(-1);
  if (last && run.ended === null && phase && step.duration_s < phase.duration_s)
    parts.push(`cut off after ${clock(step.duration_s)} of ${clock(phase.duration_s)}`);
  return parts.join(', ');
}
