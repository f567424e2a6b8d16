import type { Interval, Latencies, Latency, Run } from '../../contract/run.ts';
import { Chart } from '../chart.tsx';
import { type Line, overOneAxis } from '../chart-data.ts';
import { wantsLog } from '../chart-ranges.ts';
import { curve, measuredSeconds, percentile, protocolOf } from '../facts.ts';
import { count, figure, ms, msUnit, percent, percentileText } from '../format.ts';
import { binOf, binStart, cells } from '../heat.ts';
import type { PartProps } from '../part.ts';
import { Table } from '../table.tsx';
import { quantile } from '../window.ts';
import { SampledTable } from './sampled.tsx';

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
export function LatencySection({ run: whole, sound }: PartProps) {
  const { latency, steps, run } = whole;
  const { arrival, from_send, http } = latency;
  if (arrival.count === 0 && http.count === 0) return null;
  // In a closed load a message is due when it is sent: “from send” is the same figure and would seem to prove something.
  const corrected = run.model === 'open';
  const protocol = protocolOf({ run });
  const seconds = measuredSeconds(whole);
  const measured = steps.filter((step) => step.measured).map((step) => step.name);
  const column = (head: string, unit: string, of: Latency) => ({
    head,
    unit,
    cell: ([, value]: (typeof ROWS)[number]) => value(of),
  });
  return (
    <section id="latency">
      <h2>Latency: arrival and {protocol}</h2>
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
            {corrected
              ? 'Arrival counts from the time a message was due, so a late generator does not hide a slow pipeline. “From send” is without that correction. '
              : 'The model is closed: a VU sends its next request when the last one is answered. A message is due when it is sent. '}
            Percentiles come from HdrHistograms (1 µs, 3 significant digits), with a sample per delivery, for{' '}
            {protocol} per request. A percentile is shown where enough samples stand behind it: 100 for p99.
          </p>
        </div>
        <PercentileChart latency={latency} corrected={corrected} protocol={protocol} />
      </div>
      <div class="charts">
        <Distribution run={whole} />
        {corrected && <LoadChart run={whole} seconds={seconds} />}
      </div>
      <SampledTable run={whole} sound={sound} />
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
          ? `Half of the deliveries arrived within ${msUnit(latency.arrival.p50)}, ${percentileText(last[0], 3)} % within ${msUnit(last[1])}`
          : 'Too few deliveries for a curve of their arrival'
      }
      note="Each line stops where its samples run out."
      kind="percentile"
      x={x}
      log
      height={300}
      format={ms}
      lines={[
        { label: 'arrival', values: arrived, colour: 'blue' },
        { label: 'from send', values: fromSend, colour: 'cyan', dash: 'dashed' },
        { label: protocol, values: answered, colour: 'orange', dash: 'dotted' },
      ]}
    />
  );
}

/** Latency histogram of the measured phases with their drain; nothing in runs of earlier versions. */
function Distribution({ run: { latency, answer, arrival_bins } }: { run: Run }) {
  const bins = cells({ bins: arrival_bins ?? null });
  const [first] = bins;
  if (first === undefined) return null;
  const total = bins.reduce((sum, [, deliveries]) => sum + deliveries, 0);
  const [most, deliveries] = bins.reduce((a, b) => (b[1] > a[1] ? b : a));
  const end = first[0] + bins.length;
  const marks = (
    [
      ['p50', percentile(latency.arrival, 'p50')],
      ['p99', percentile(latency.arrival, 'p99')],
      ['limit', answer?.p99_limit_ms ?? null],
    ] as const
  ).flatMap(([name, value]) => {
    const x = value === null || value <= 0 ? Number.NaN : binOf(value);
    return x >= first[0] && x <= end ? [{ x, name }] : [];
  });
  return (
    <Chart
      name="Distribution of arrival"
      unit="deliveries by latency, of the messages that were due in the measured phases"
      axis="deliveries"
      title={`${percent(deliveries / total)} of the deliveries took ${ms(binStart(most))} to ${msUnit(binStart(most + 1))}`}
      kind="bin"
      x={bins.map(([bin]) => bin)}
      whole
      marks={marks}
      format={count}
      lines={[
        { label: 'deliveries', values: bins.map(([, value]) => value), colour: 'p50', as: 'bars' as const },
      ]}
    />
  );
}

/** The lowest rate beside the highest from which latency can be shown against the load. */
const RAMPS = 1.5;

/** p50 and p99 of what was due in a second, whenever it arrived, by its load; nothing where the load stayed as it was. */
function LoadChart({ run, seconds }: { run: Run; seconds: Interval[] }) {
  const loaded = seconds.filter(({ scheduled, due_bins }) => scheduled > 0 && due_bins !== undefined);
  loaded.sort((a, b) => a.scheduled - b.scheduled);
  const [least, most] = [loaded[0]?.scheduled ?? 0, loaded.at(-1)?.scheduled ?? 0];
  if (most < RAMPS * least) return null;
  const limit = run.answer?.p99_limit_ms ?? null;
  // A bin may end above the slowest delivery in it.
  const slowest = run.timeline.reduce((most, { arrival }) => Math.max(most, arrival?.max ?? 0), 0);
  const of = (share: number) =>
    loaded.map(({ due_bins = null }) => {
      const value = quantile(cells({ bins: due_bins }), share);
      return value === null || slowest === 0 ? value : Math.min(value, slowest);
    });
  const measured: Line[] = [
    { label: 'p50', values: of(0.5), colour: 'p50', as: 'points' },
    { label: 'p99', values: of(0.99), colour: 'p99', as: 'points' },
  ];
  const lines: Line[] = [
    ...measured,
    ...(limit === null
      ? []
      : [{ label: 'limit', values: loaded.map(() => limit), colour: 'fail', dash: 'dashed' as const }]),
  ];
  const p99 = measured[1]?.values ?? [];
  const worst = p99.reduce<number>((best, value, i) => ((value ?? 0) > (p99[best] ?? 0) ? i : best), 0);
  return (
    <Chart
      name="Latency by load"
      unit={`ms${wantsLog(lines) ? ', logarithmic' : ''}; a point for the messages due in a second, from bins`}
      title={
        p99[worst] == null
          ? `Up to ${figure(most)} messages/s; too few deliveries a second for a p99`
          : `What was due in the slowest second, at ${figure(loaded[worst]?.scheduled)} messages/s, had p99 ≈ ${msUnit(p99[worst])}`
      }
      kind="load"
      x={loaded.map(({ scheduled }) => scheduled)}
      log={wantsLog(lines)}
      format={ms}
      lines={lines}
    />
  );
}
