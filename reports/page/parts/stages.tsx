import type { Flow, Run, StageRow } from '../../contract/run.ts';
import { count, ms, msUnit, percent } from '../../format.ts';
import { Chart } from '../chart.tsx';
import { colourOf, overTime } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { Table } from '../table.tsx';
import { SpansPart } from './spans.tsx';

/** Share of each stage in the latency: a table that adds up, and the means over time. */
export function StagesSection({ run, sound }: PartProps) {
  const { journey } = run.facts;
  if (run.latency.arrival.count === 0) return null;
  return (
    <section id="stages">
      <h2>Stages</h2>
      {journey.source !== 'stamps' && (
        <p>
          {journey.source === 'spans'
            ? 'The messages carried no stamps of the stages.'
            : 'The messages carried no stamps of the stages, so what follows the schedule is known as a whole only.'}
        </p>
      )}
      {journey.source === 'stamps' && (
        <div class="beside wide-left">
          <StageTable run={run} />
          <StageChart run={run} />
        </div>
      )}
      {journey.source === 'none' && journey.sum_ms !== null && <StageTable run={run} />}
      {journey.source === 'stamps' && <StagesByFlow run={run} sound={sound} />}
      <SpansPart run={run} sound={sound} />
    </section>
  );
}

function StageTable({ run }: { run: Run }) {
  const { journey } = run.facts;
  const { arrival } = run.latency;
  const { stages } = journey;
  const tail = journey.of === undefined ? run.tail : null; // of a sweep it is that of all steps
  const names = stages.map(({ name }) => name);
  const bound = stages.find(({ bound_ms }) => bound_ms !== null)?.bound_ms;
  const ended = (name: string) => stages.find((stage) => stage.name === name)?.count ?? 0;
  return (
    <div class="stages">
      <Table
        caption={`ms, and share of the mean arrival; ${count(journey.samples)} deliveries ${journey.of ?? 'of the measured phases'}`}
        columns={[
          {
            head: 'stage',
            text: true,
            cell: ({ name, from, to, says }) => (
              <>
                <i class="swatch" style={{ background: `var(--${colourOf(names, name)})` }} /> {name}
                <small>
                  {from} → {to}
                  {says && <span class="roomy">: {says}</span>}
                </small>
              </>
            ),
          },
          { head: 'mean', cell: ({ mean_ms }) => (mean_ms === null ? 'not available' : ms(mean_ms)) },
          {
            head: 'share',
            ...(tail && { unit: 'all; slowest 1 %' }),
            cell: ({ name, share, slow_share }) => (
              <>
                <Share colour={colourOf(names, name)} part={share} />
                {tail && <Share colour={colourOf(names, name)} part={slow_share} />}
              </>
            ),
          },
          { head: 'p50', cell: (stage) => <WithBound {...stage} /> },
          { head: 'p99', cell: ({ p99_ms }) => ms(p99_ms) },
          { head: 'max', cell: ({ max_ms }) => ms(max_ms) },
        ]}
        rows={stages}
        foot={[
          'sum of the means',
          ms(journey.sum_ms),
          percent(journey.covers),
          ...(tail ? [''] : []),
          '',
          '',
          '',
        ]}
      />
      <p class="small">
        {journey.covers === 1
          ? `The means add up to the mean arrival latency, ${msUnit(journey.mean_ms)}; `
          : `The means add up to ${msUnit(journey.sum_ms)}, but the mean arrival latency is ${msUnit(journey.mean_ms)}; `}
        percentiles of stages do not add up.{' '}
        {tail &&
          `The slowest 1 % (${count(tail.count)} deliveries) took ${msUnit(tail.mean_ms)} on average; the second bar of a stage is their share. `}
        {bound != null &&
          `±: a stage between two processes, known only to within the clock bound (${msUnit(bound)}). `}
        {names.includes('delivery') &&
          ended('queue') > 0 &&
          ended('delivery') === 0 &&
          'In this run a message has arrived when it is in the queue: there is no relay and no delivery. '}
        {journey.of === undefined &&
          journey.samples < arrival.count &&
          `${count(journey.samples)} of ${count(arrival.count)} deliveries carried stamps; this table is about them.`}
      </p>
    </div>
  );
}

/** The p50 of a stage, with the bound of its clocks where that matters. */
export function WithBound({ p50_ms, bound_ms }: Pick<StageRow, 'p50_ms' | 'bound_ms'>) {
  return (
    <>
      {ms(p50_ms)}
      {bound_ms !== null && <abbr title="known to within the clock bound"> ±{ms(bound_ms)}</abbr>}
    </>
  );
}

function Share({ colour, part }: { colour: string; part: number | null }) {
  if (part === null) return <>–</>;
  const width = `${Math.min(100, Math.max(0, part * 100))}%`;
  return (
    <span class="share">
      <span class="bar" aria-hidden="true">
        <i style={{ width, background: `var(--${colour})` }} />
      </span>
      <span>{percent(part)}</span>
    </span>
  );
}

function StageChart({ run }: { run: Run }) {
  const seconds = run.timeline;
  const { largest_stage: largest, journey } = run.facts;
  const names = journey.stages.map(({ name }) => name);
  return (
    <Chart
      name="Mean of each stage"
      unit="ms, stacked; the top is the mean arrival latency"
      title={
        largest
          ? `The largest stage is ${largest.stage}: ${percent(largest.share)} of the mean arrival latency${journey.of ? ` ${journey.of}` : ''}, ${msUnit(journey.mean_ms)}`
          : 'No stage is longer than 0 ms on average'
      }
      {...overTime(run)}
      x={seconds.map((second) => second.t + 0.5)}
      stacked
      height={300}
      format={ms}
      lines={names.map((stage) => ({
        label: stage,
        values: seconds.map((second) => second.stages?.[stage] ?? null),
        colour: colourOf(names, stage),
      }))}
    />
  );
}

/** The mean of each stage in each flow; nothing where there is only one. */
function StagesByFlow({ run }: PartProps) {
  const rows = run.flows.filter(({ stages }) => stages !== undefined);
  if (rows.length < 2) return null;
  const names = run.stages.map(({ name }) => name);
  return (
    <Table
      caption="Means of the stages by flow, ms; measured phases"
      columns={[
        { head: 'flow', text: true, cell: (flow: Flow) => flow.name },
        { head: 'deliveries', cell: (flow: Flow) => count(flow.stamped) },
        ...names.map((name) => ({
          head: (
            <>
              <i class="swatch" style={{ background: `var(--${colourOf(names, name)})` }} /> {name}
            </>
          ),
          cell: (flow: Flow) => ms(flow.stages?.[name]),
        })),
        { head: 'arrival', unit: 'all deliveries', cell: ({ arrival }: Flow) => ms(arrival.mean) },
      ]}
      rows={rows}
    />
  );
}
