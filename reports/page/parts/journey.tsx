import { said } from '../../account.ts';
import type { Journey as Facts, Loss, Run, StageRow } from '../../contract/run.ts';
import { count, glued, msUnit, percent } from '../../format.ts';
import { colourOf } from '../facts.ts';
import { flowOf, outline } from '../flow.ts';

interface ColouredStage extends StageRow {
  colour: string;
}

/** The way of a message: where its time goes, and under it what became of the messages. */
export function Journey({ run }: { run: Run }) {
  const { journey } = run.facts;
  const names = journey.stages.map(({ name }) => name);
  const parts = journey.stages.map(
    (stage): ColouredStage => ({ ...stage, colour: `var(--${colourOf(names, stage.name)})` }),
  );
  if (run.account.scheduled === 0) return null;
  return (
    <div class="journey">
      {journey.sum_ms !== null && <Times journey={journey} parts={parts} />}
      <figure>
        <figcaption>
          <h3>What became of the messages</h3>
        </figcaption>
        <div class="way">
          <FlowOfMessages run={run} />
          <ol class="marks" aria-label="A message on its way">
            {[parts[0]?.from, ...parts.map(({ to }) => to)].map((mark, i) => (
              <li key={i} style={{ left: `${(100 * i) / parts.length}%` }}>
                {mark}
              </li>
            ))}
          </ol>
        </div>
      </figure>
    </div>
  );
}

/** The stages as parts of a bar, those of all deliveries and of the slowest ones, with their figures. */
function Times({ journey, parts }: { journey: Facts; parts: ColouredStage[] }) {
  const all = OF[journey.source];
  return (
    <figure>
      <figcaption>
        <h3>Where the time goes</h3>
        <p>{caption(journey)}</p>
      </figcaption>
      <Bar name={all.bar} parts={parts} of={({ share }) => share} />
      {journey.slow_mean_ms !== null && (
        <Bar name="slowest 1 %" parts={parts} of={({ slow_share }) => slow_share} />
      )}
      <ul class={journey.slow_mean_ms === null ? 'parts' : 'parts longer'}>
        {parts.filter(takesTime).map(({ name, from, to, colour, share, slow_share, mean_ms }) => (
          <li key={name} title={`${from} → ${to}`}>
            <i class="swatch" style={{ background: colour }} /> {name}{' '}
            <small>
              {glued(
                [
                  `${percent(share)} ${all.share}`,
                  ...(slow_share === null ? [] : [`${percent(slow_share)} of the slowest 1 %`]),
                  ...(mean_ms === null ? [] : [`mean ${msUnit(mean_ms)}`]),
                ].join(' · '),
              )}
            </small>
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** Whether a stage has a part in a bar: messages that are published at the broker skip those of the ingest. */
function takesTime({ share, slow_share }: StageRow): boolean {
  return share !== 0 || (slow_share ?? 0) > 0;
}

/** Whose stages the first bar has. */
const OF = {
  stamps: { bar: 'all deliveries', share: 'of all' },
  spans: { bar: 'sampled', share: 'of the sampled' },
  none: { bar: 'all deliveries', share: 'of all' },
};

function caption({ source, of: step, mean_ms, slow_mean_ms, samples }: Facts): string {
  const of =
    source === 'spans'
      ? `${count(samples)} sampled deliveries, by the pipeline’s own spans`
      : `all deliveries${step ? ` ${step}` : ''}`;
  const slow = slow_mean_ms === null ? '' : `, ${msUnit(slow_mean_ms)} of the slowest 1 %`;
  const none = source === 'none' ? '; the pipeline gives no stages' : '';
  return `Share of the mean arrival latency: ${msUnit(mean_ms)} of ${of}${slow}${none}`;
}

/** A bar of parts, each with its name above it if it is wide enough for it. */
function Bar({
  name,
  parts,
  of,
}: {
  name: string;
  parts: ColouredStage[];
  of: (part: ColouredStage) => number | null;
}) {
  return (
    <p class="bar-of">
      <span>{name}</span>
      <span class="stack" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.name} class="part" style={{ width: `${Math.max(0, 100 * (of(part) ?? 0))}%` }}>
            <span class="name">
              <span>{part.name}</span>
            </span>
            <i style={{ background: part.colour }} />
          </span>
        ))}
      </span>
    </p>
  );
}

/** Messages from scheduled to arrived; each loss branches off at its stage, as wide as its number. */
function FlowOfMessages({ run: { account, facts } }: { run: Run }) {
  const { height, band, branches, apart } = flowOf(account, facts);
  return (
    <>
      <p class="ends">
        <span>{count(account.scheduled)} scheduled</span>
        <span>
          {count(account.arrived)} arrived, {percent(facts.arrived_share)}
        </span>
      </p>
      <div class="flow" style={{ height: `${height}px` }}>
        <svg viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {band.map(({ from, to, width }, i) => (
            <rect key={i} class="band" x={1000 * from} y={0} width={1000 * (to - from)} height={width} />
          ))}
          {branches.map((branch, i) => (
            <path key={i} class="branch" d={outline(branch)} />
          ))}
          {apart.map(({ top, width }, i) => (
            <rect key={i} class="apart" x={0} y={top} width={1000} height={width} />
          ))}
        </svg>
        {branches.map((branch, i) => (
          <span
            key={i}
            class="loss"
            style={{
              top: `${branch.ends + branch.width / 2}px`,
              // To the right of the last stages there is no room for the words of a branch.
              ...(branch.to > 0.7
                ? { right: `${100 * (1 - branch.from)}%` }
                : { left: `${100 * branch.to}%` }),
            }}
          >
            {lossText(branch.loss)}
          </span>
        ))}
        {apart.map(({ loss, text }, i) => (
          <span key={i} class="loss" style={{ top: `${text}px`, left: 0 }}>
            {lossText(loss)}: place unknown
          </span>
        ))}
      </div>
    </>
  );
}

function lossText({ end, count: messages, share }: Loss): string {
  return `${count(messages)} ${said(end)}, ${percent(share)}`;
}
