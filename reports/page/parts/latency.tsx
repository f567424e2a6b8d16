import type { Latencies, Latency, Run } from '../../contract/run.ts';
import { count, ms } from '../../format.ts';
import { Chart } from '../chart.tsx';
import { type Line, overOneAxis } from '../chart-data.ts';
import { wantsLog } from '../chart-ranges.ts';
import { curve, percentile, protocolOf, titleOf } from '../facts.ts';
import { binOf, cells } from '../heat.ts';
import type { PartProps } from '../part.ts';
import { Table } from '../table.tsx';
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

/** The most names of phases in a caption. */
const MOST_NAMES = 6;

/** Arrival beside HTTP: a table and the percentile curve. */
export function LatencySection({ run: whole, sound }: PartProps) {
  const { latency, steps, run } = whole;
  const { arrival, from_send, http } = latency;
  if (arrival.count === 0 && http.count === 0) return null;
  // In a closed load a message is due when it is sent: “from send” is the same figure and would seem to prove something.
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
        <PercentileChart
          latency={latency}
          title={titleOf(whole, 'percentiles')}
          corrected={corrected}
          protocol={protocol}
        />
      </div>
      <div class="charts">
        <Distribution run={whole} />
        <LoadChart run={whole} />
      </div>
      <SampledTable run={whole} sound={sound} />
    </section>
  );
}

/** The names of phases; of many only the first and the last. */
function phases(names: string[]): string {
  if (names.length <= MOST_NAMES) return names.join(', ');
  return `${count(names.length)} phases, ${names[0]} to ${names.at(-1)}`;
}

type PercentileChartProps = { latency: Latencies; title: string; corrected: boolean; protocol: string };

function PercentileChart({ latency, title, corrected, protocol }: PercentileChartProps) {
  const arrival = curve(latency.arrival);
  const { x, values } = overOneAxis([
    arrival,
    corrected ? curve(latency.from_send) : [],
    curve(latency.http),
  ]);
  const [arrived = [], fromSend = [], answered = []] = values;
  return (
    <Chart
      name="Latency by percentile"
      unit="ms, logarithmic; 90, 99, 99.9 % … are equally far apart"
      title={title}
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

/** Latency histogram of the measured phases with their drain; nothing where nothing arrived. */
function Distribution({ run }: { run: Run }) {
  const { latency, answer, arrival_bins } = run;
  const bins = cells({ bins: arrival_bins ?? null });
  const [first] = bins;
  if (first === undefined) return null;
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
      title={titleOf(run, 'distribution')}
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

/** p50 and p99 of the messages due in each second, by its load; nothing if the load did not change. */
function LoadChart({ run }: { run: Run }) {
  const points = run.facts.by_load;
  if (points === null) return null;
  const limit = run.answer?.p99_limit_ms ?? null;
  const lines: Line[] = [
    { label: 'p50', values: points.map(({ p50_ms }) => p50_ms), colour: 'p50', as: 'points' },
    { label: 'p99', values: points.map(({ p99_ms }) => p99_ms), colour: 'p99', as: 'points' },
    ...(limit === null
      ? []
      : [{ label: 'limit', values: points.map(() => limit), colour: 'fail', dash: 'dashed' as const }]),
  ];
  return (
    <Chart
      name="Latency by load"
      unit={`ms${wantsLog(lines) ? ', logarithmic' : ''}; a point for the messages due in a second, from bins`}
      title={titleOf(run, 'by_load')}
      kind="load"
      x={points.map(({ per_s }) => per_s)}
      log={wantsLog(lines)}
      format={ms}
      lines={lines}
    />
  );
}
