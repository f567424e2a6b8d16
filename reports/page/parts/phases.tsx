import type { Latency, Step } from '../../run.ts';
import { largestStage, type PercentileKey, percentile, protocolOf } from '../facts.ts';
import { clock, count, figure, ms, percent, plural } from '../format.ts';
import type { PartProps } from '../report.tsx';
import { type Column, LongTable } from '../table.tsx';

/** A column of latencies in ms. */
function latencyColumn<Row>(
  head: string,
  of: (row: Row) => Latency,
  key: PercentileKey | 'max',
): Column<Row> {
  return { head, unit: 'ms', cell: (row) => ms(key === 'max' ? of(row).max : percentile(of(row), key)) };
}

/** Each phase: what was planned, what got through, how long it took. */
export function PhasesSection({ run, sound }: PartProps) {
  const { steps } = run;
  const closed = run.run.model === 'closed';
  if (steps.length === 0) return null;
  const arrival = (step: Step) => step.latency.arrival;
  const largest = (step: Step) => {
    const stage = largestStage(step.latency);
    return stage ? `${stage.stage}, ${percent(stage.share)}` : '–';
  };
  return (
    <section class={closed ? 'phases closed' : 'phases'}>
      <h2>Phases</h2>
      <LongTable
        what="phases"
        caption={`Messages belong to the phase they were ${closed ? 'sent' : 'due'} in, and deliveries to the phase of their message`}
        columns={[
          {
            head: 'phase',
            text: true,
            cell: (step) => (
              <>
                {step.name}
                <small>{about(run, step)}</small>
              </>
            ),
          },
          {
            head: 'time',
            cell: (step) => `${clock(step.start_s)} – ${clock(step.start_s + step.duration_s)}`,
          },
          { head: 'requests', unit: 'requests/s', cell: (step) => figure(step.requests / step.duration_s) },
          {
            head: closed ? 'sent' : 'scheduled',
            unit: 'messages/s',
            cell: (step) => figure(step.scheduled_per_s),
          },
          { head: 'accepted', unit: 'messages/s', cell: (step) => figure(step.accepted_per_s) },
          { head: 'arrived', unit: 'deliveries/s', cell: (step) => figure(step.arrived_per_s) },
          ...(closed
            ? [
                { head: 'backlog', unit: 'at the end', cell: (step: Step) => count(step.backlog) },
                {
                  head: 'drained',
                  unit: 'after, s',
                  cell: (step: Step) => (step.drained_s == null ? '–' : figure(step.drained_s)),
                },
              ]
            : []),
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
        ]}
        rows={steps}
      />
    </section>
  );
}

/** What was planned for a phase, and whether it counts. */
function about({ run, steps }: PartProps['run'], step: Step): string {
  const phase = run.profile.phases[steps.indexOf(step)];
  const parts = step.measured ? [] : ['not measured'];
  if (step.vus === 0 || (phase?.arrival_rate === 0 && phase.ramp_to === null)) {
    parts.unshift('pause');
  } else if (step.vus !== null) {
    parts.unshift(plural(step.vus, 'VU'));
  } else if (phase && phase.arrival_rate !== null) {
    const to = phase.ramp_to === null ? '' : ` → ${figure(phase.ramp_to)}`;
    parts.unshift(`${figure(phase.arrival_rate)}${to} requests/s`);
  }
  return parts.join(', ');
}
