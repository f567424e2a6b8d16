import { said } from '../../account.ts';
import type { Journey as Facts, Loss, Run, StageRow } from '../../contract/run.ts';
import { count, msUnit, percent } from '../../format.ts';
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
  const known = journey.sum_ms !== null;
  const slow = journey.slow_mean_ms !== null;
  if (run.account.scheduled === 0) return null;
  return (
    <figure class="journey" style={{ '--stages': parts.length }}>
      <figcaption>
        <h3>
          {known ? 'Where the time goes, and what became of the messages' : 'What became of the messages'}
        </h3>
        {known && <p>{caption(journey)}</p>}
      </figcaption>
      {known && <Bar name={OF[journey.source]} parts={parts} of={({ share }) => share} />}
      {known && slow && <Bar name="slowest 1 %" parts={parts} of={({ slow_share }) => slow_share} />}
      <div class="way">
        <ol class="columns">
          {parts.map((part) => (
            <li key={part.name} title={`${part.from} → ${part.to}`}>
              <i class="swatch" style={{ background: part.colour }} /> {part.name}
              {known && (
                <small>
                  {percent(part.share)}
                  {part.slow_share !== null && ` · ${percent(part.slow_share)}`}
                  {part.mean_ms !== null && <span class="roomy"> · {msUnit(part.mean_ms)}</span>}
                </small>
              )}
            </li>
          ))}
        </ol>
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
  );
}

/** The name of the first bar: whose stages it has. */
const OF = { stamps: 'all deliveries', spans: 'sampled', none: 'all deliveries' };

function caption({ source, mean_ms, slow_mean_ms, samples }: Facts): string {
  const of =
    source === 'spans'
      ? `${count(samples)} sampled deliveries, by the pipeline’s own spans`
      : 'all deliveries';
  const slow = slow_mean_ms === null ? '' : `, ${msUnit(slow_mean_ms)} of the slowest 1 %`;
  const none = source === 'none' ? '; the pipeline gives no stages' : '';
  return `Share of the mean arrival latency: ${msUnit(mean_ms)} of ${of}${slow}${none}`;
}

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
          <i
            key={part.name}
            style={{ width: `${Math.max(0, 100 * (of(part) ?? 0))}%`, background: part.colour }}
          />
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
