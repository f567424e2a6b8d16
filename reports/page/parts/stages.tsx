import { latencyOf, stagesOf } from '../../contract/run.ts';
import { Chart } from '../chart.tsx';
import { colourOf, largestStage, overTime, percentile, share, uncertain } from '../facts.ts';
import { count, ms, msUnit, percent } from '../format.ts';
import type { PartProps } from '../part.ts';
import { Table } from '../table.tsx';
import { SpansPart } from './spans.tsx';
import { StagesByFlow } from './stages-by-flow.tsx';

/** Rounding to µs may change a sum of means by this much. */
const ROUNDING_MS = 0.001;

/** Share of each stage in the latency: a table that adds up, and the means over time. */
export function StagesSection({ run, sound }: PartProps) {
  const { latency } = run;
  if (latency.arrival.count === 0) return null;
  const bySpans = (run.spans?.stages.length ?? 0) > 0;
  // The first is known without stamps. Where spans have it too, it is not worth a table.
  const known = stagesOf(run).some(
    ({ name }, i) => (i > 0 || !bySpans) && latencyOf(latency, name).count > 0,
  );
  return (
    <section id="stages">
      <h2>Stages</h2>
      {known ? (
        <div class="beside wide-left">
          <StageTable run={run} sound={sound} />
          <StageChart run={run} sound={sound} />
        </div>
      ) : (
        <p>
          {bySpans
            ? 'The messages carried no stamps of the stages.'
            : 'Not available: the messages carried no stamps of the stages, so arrival is known as a whole only.'}
        </p>
      )}
      {known && <StagesByFlow run={run} sound={sound} />}
      <SpansPart run={run} sound={sound} />
    </section>
  );
}

function StageTable({ run }: PartProps) {
  const { latency, clock, tail } = run;
  const { arrival } = latency;
  const stages = stagesOf(run).map((stage) => ({ ...stage, of: latencyOf(latency, stage.name) }));
  const names = stages.map(({ name }) => name);
  const known = stages.filter(({ of }) => of.count > 0);
  const sum = known.reduce((total, { of }) => total + (of.mean ?? 0), 0);
  const addsUp = Math.abs(sum - (arrival.mean ?? 0)) <= ROUNDING_MS;
  const samples = Math.min(...known.map(({ of }) => of.count));
  const ended = (name: string) => stages.find((stage) => stage.name === name)?.of.count ?? 0;
  return (
    <div class="stages">
      <Table
        caption={`ms, and share of the mean arrival; ${count(samples)} deliveries of the measured phases`}
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
          { head: 'mean', cell: ({ of }) => (of.count ? ms(of.mean) : 'not available') },
          {
            head: 'share',
            ...(tail && { unit: 'all; slowest 1 %' }),
            cell: ({ name }) => (
              <>
                <Share colour={colourOf(names, name)} part={share(latency, name)} />
                {tail && (
                  <Share colour={colourOf(names, name)} part={(tail.stages_ms[name] ?? 0) / tail.mean_ms} />
                )}
              </>
            ),
          },
          {
            head: 'p50',
            cell: (stage) => (
              <>
                {ms(percentile(stage.of, 'p50'))}
                {uncertain(run, stage) && (
                  <abbr title="known to within the clock bound"> ±{ms(clock?.bound_ms)}</abbr>
                )}
              </>
            ),
          },
          { head: 'p99', cell: ({ of }) => ms(percentile(of, 'p99')) },
          { head: 'max', cell: ({ of }) => ms(of.max) },
        ]}
        rows={stages}
        foot={[
          'sum of the means',
          ms(sum),
          percent(addsUp ? 1 : sum / (arrival.mean ?? Number.NaN)),
          ...(tail ? [''] : []),
          '',
          '',
          '',
        ]}
      />
      <p class="small">
        {addsUp
          ? `The means add up to the mean arrival latency, ${msUnit(arrival.mean)}; `
          : `The means add up to ${msUnit(sum)}, but the mean arrival latency is ${msUnit(arrival.mean)}; `}
        percentiles of stages do not add up.{' '}
        {tail &&
          `The slowest 1 % (${count(tail.count)} deliveries) took ${msUnit(tail.mean_ms)} on average; the second bar of a stage is their share. `}
        {known.some((stage) => uncertain(run, stage)) &&
          `±: a stage between two processes, known only to within the clock bound (${msUnit(clock?.bound_ms)}). `}
        {names.includes('delivery') &&
          ended('queue') > 0 &&
          ended('delivery') === 0 &&
          'In this run a message has arrived when it is in the queue: there is no relay and no delivery. '}
        {samples < arrival.count &&
          `${count(arrival.count - samples)} deliveries carried no stamps and are not in this table.`}
      </p>
    </div>
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

function StageChart({ run }: PartProps) {
  const seconds = run.timeline;
  const largest = largestStage(run.latency);
  const names = stagesOf(run).map(({ name }) => name);
  return (
    <Chart
      name="Mean of each stage"
      unit="ms, stacked; the top is the mean arrival latency"
      title={
        largest
          ? `The largest stage is ${largest.stage}: ${percent(largest.share)} of the mean arrival latency, ${msUnit(run.latency.arrival.mean)}`
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
