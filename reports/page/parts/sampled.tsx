import type { Sampled, Step } from '../../contract/run.ts';
import { changeText, count, ms, msUnit } from '../../format.ts';
import { percentile } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { type Column, Table } from '../table.tsx';

type Key = keyof Sampled['difference'];
type SampledStep = Step & { sampled: Sampled };

/** Stages of the sampled messages by their trace lists, beside those of all; nothing in a run without `sampled`. */
export function SampledTable({ run }: PartProps) {
  const { sampled } = run;
  if (!sampled) return null;
  const full = percentile(run.latency.arrival, 'p99');
  const steps = run.steps.filter((step): step is SampledStep => step.sampled != null && step.requests > 0);
  return (
    <div class="sampled">
      <h3>Sampled, beside all messages</h3>
      <p>
        Sampled p99 {msUnit(sampled.p99)} from {count(sampled.count)} samples, full {msUnit(full)}, difference{' '}
        {change(sampled.difference.p99, full)}.
      </p>
      <Table
        caption={`Arrival in ms. Sampled: one message in ${count(sampled.one_in)}, joined by id from the trace lists of ingest and relay`}
        columns={[
          { head: 'phase', text: true, cell: ({ name }: SampledStep) => name },
          { head: 'samples', unit: 'deliveries', cell: (step) => count(step.sampled.count) },
          ...(['mean', 'p50', 'p99'] as const).flatMap(columnsOf),
          { head: 'due to', unit: 'ingest, mean', cell: (step) => ms(step.sampled.parts.ingest) },
          { head: 'to', unit: 'relay, mean', cell: (step) => ms(step.sampled.parts.relay) },
          { head: 'to', unit: 'arrival, mean', cell: (step) => ms(step.sampled.parts.arrival) },
        ]}
        rows={steps}
      />
      {sampled.not_found > 0 && (
        <p class="small">
          {count(sampled.not_found)} deliveries of sampled messages are left out: they are not in both lists.
        </p>
      )}
    </div>
  );
}

function columnsOf(key: Key): Column<SampledStep>[] {
  const full = ({ latency: { arrival } }: Step) => (key === 'mean' ? arrival.mean : percentile(arrival, key));
  return [
    { head: key, unit: 'sampled', cell: ({ sampled }) => ms(sampled[key]) },
    { head: key, unit: 'full', cell: (step) => ms(full(step)) },
    { head: 'difference', cell: (step) => change(step.sampled.difference[key], full(step)) },
  ];
}

/** A difference in ms, and relative to the value it is compared with. */
function change(difference: number | null, from: number | null): string {
  if (difference === null) return '–';
  const sign = difference > 0 ? '+' : '';
  const share = from !== null && from > 0 ? ` (${changeText(difference / from)})` : '';
  return `${sign}${msUnit(difference)}${share}`;
}
