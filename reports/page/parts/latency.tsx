import type { Latencies, Latency } from '../../contract/run.ts';
import { Chart } from '../chart.tsx';
import { overOneAxis } from '../chart-data.ts';
import { msValue } from '../chart-options.ts';
import { curve, percentile, protocolOf } from '../facts.ts';
import { count, ms, msUnit } from '../format.ts';
import type { PartProps } from '../part.ts';
import { Table } from '../table.tsx';

const ROWS: [name: string, value: (latency: Latency) => string][] = [
  ['samples', (l) => count(l.count)],
  ['min', (l) => ms(l.min)],
  ['mean', (l) => ms(l.mean)],
  ['p50', (l) => ms(percentile(l, 'p50'))],
  ['p75', (l) => ms(percentile(l, 'p75'))],
  ['p90', (l) => ms(percentile(l, 'p90'))],
  ['p95', (l) => ms(percentile(l, 'p95'))],
  ['p99', (l) => ms(percentile(l, 'p99'))],
  ['p99.9', (l) => ms(percentile(l, 'p999'))],
  ['max', (l) => ms(l.max)],
];

/** Of phases in a caption. */
const MOST_NAMES = 6;

/** Arrival beside HTTP: a table and the percentile curve. */
export function LatencySection({ run: { latency, steps, run } }: PartProps) {
  const { arrival, from_send, http } = latency;
  if (arrival.count === 0 && http.count === 0) return null;
  // Where a message is due when it is sent, “from send” is the same figure and would seem to prove something.
  const corrected = run.model === 'open';
  const protocol = protocolOf({ run });
  const measured = steps.filter((step) => step.measured).map((step) => step.name);
  const column = (head: string, unit: string, of: Latency) => ({
    head,
    unit,
    cell: ([, value]: (typeof ROWS)[number]) => value(of),
  });
  return (
    <section id="latency">
      <h2>Arrival and {protocol}</h2>
      <div class="beside">
        <div>
          <Table
            caption={`ms, over the measured phases (${phases(measured)})`}
            columns={[
              { head: 'statistic', text: true, cell: ([name]) => name },
              column('arrival', corrected ? 'due → arrived' : 'sent → arrived', arrival),
              ...(corrected ? [column('from send', 'sent → arrived', from_send)] : []),
              column(protocol, 'sent → answer', http),
            ]}
            rows={ROWS}
          />
          <p class="small">
            {corrected &&
              'Arrival counts from the time a message was due, so a late generator does not hide a slow pipeline; “from send” is the same without that correction. '}
            {!corrected &&
              'The model is closed: a VU sends its next request when the last one is answered, and a message is due when it is sent. '}
            Percentiles come from HdrHistograms (1 µs, 3 significant digits): a sample per delivery, for{' '}
            {protocol} per request. A percentile p is shown where at least 1 / (1 − p) samples stand behind
            it.
          </p>
        </div>
        <PercentileChart latency={latency} corrected={corrected} protocol={protocol} />
      </div>
    </section>
  );
}

/** Of many phases the first and the last. */
function phases(names: string[]): string {
  if (names.length <= MOST_NAMES) return names.join(', ');
  return `${count(names.length)} phases, ${names[0]} to ${names.at(-1)}`;
}

type PercentileChartProps = { latency: Latencies; corrected: boolean; protocol: string };

function PercentileChart({ latency, corrected, protocol }: PercentileChartProps) {
  const arrival = curve(latency.arrival);
  const { x, values } = overOneAxis([
    arrival,
    corrected ? curve(latency.from_send) : [],
    curve(latency.http),
  ]);
  const [arrived = [], fromSend = [], answered = []] = values;
  const last = arrival.at(-1);
  return (
    <Chart
      name="Latency by percentile"
      unit="ms, logarithmic; each 9 of the percentile takes as much room as the one before"
      title={
        last
          ? `Half of the deliveries arrived within ${msUnit(latency.arrival.p50)}, ${Number(last[0].toFixed(3))} % within ${msUnit(last[1])}`
          : 'Too few deliveries for a curve of their arrival'
      }
      note="Each line stops where its samples run out."
      kind="percentile"
      x={x}
      log
      height={300}
      format={msValue}
      lines={[
        { label: 'arrival', values: arrived, colour: 'blue' },
        { label: 'from send', values: fromSend, colour: 'cyan', dash: 'dashed' },
        { label: protocol, values: answered, colour: 'orange', dash: 'dotted' },
      ]}
    />
  );
}
