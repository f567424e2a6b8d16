import { said } from '../../account.ts';
import { latencyOf, type Run, type Stage, stagesOf } from '../../contract/run.ts';
import { colourOf, share } from '../facts.ts';
import { flowOf, outline } from '../flow.ts';
import { count, msUnit, percent } from '../format.ts';

interface Part extends Stage {
  colour: string;
  /** Shares of the mean arrival, of all deliveries and of the slowest; null: not known. */
  all: number | null;
  slow: number | null;
}

/** The way of a message: where its time goes, and under it where messages were lost. */
export function Journey({ run }: { run: Run }) {
  const stages = stagesOf(run);
  const names = stages.map(({ name }) => name);
  const { tail, latency } = run;
  const parts = stages.map(
    (stage): Part => ({
      ...stage,
      colour: `var(--${colourOf(names, stage.name)})`,
      all: share(latency, stage.name),
      slow: tail ? (tail.stages_ms[stage.name] ?? 0) / tail.mean_ms : null,
    }),
  );
  const known = parts.filter(({ all }) => all !== null).length > 1;
  if (run.account.scheduled === 0) return null;
  return (
    <figure class="journey" style={{ '--stages': parts.length }}>
      <figcaption>
        <h3>{known ? 'Where the time goes, and where messages are lost' : 'Where messages are lost'}</h3>
        {known && (
          <p>
            Share of the mean arrival latency: {msUnit(latency.arrival.mean)} of all deliveries
            {tail && `, ${msUnit(tail.mean_ms)} of the slowest 1 %`}
          </p>
        )}
      </figcaption>
      {known && <Bar name="all deliveries" parts={parts} of={({ all }) => all} />}
      {known && tail && <Bar name="slowest 1 %" parts={parts} of={({ slow }) => slow} />}
      <div class="way">
        <ol class="columns">
          {parts.map((part) => (
            <li key={part.name} title={`${part.from} → ${part.to}`}>
              <i class="swatch" style={{ background: part.colour }} /> {part.name}
              {known && (
                <small>
                  {percent(part.all)}
                  {part.slow !== null && ` · ${percent(part.slow)}`}
                  {latencyOf(latency, part.name).count > 0 && (
                    <span class="roomy"> · {msUnit(latencyOf(latency, part.name).mean)}</span>
                  )}
                </small>
              )}
            </li>
          ))}
        </ol>
        <FlowOfMessages run={run} stages={stages} />
        <ol class="marks" aria-label="A message on its way">
          {[stages[0]?.from, ...stages.map(({ to }) => to)].map((mark, i) => (
            <li key={i} style={{ left: `${(100 * i) / stages.length}%` }}>
              {mark}
            </li>
          ))}
        </ol>
      </div>
    </figure>
  );
}

function Bar({ name, parts, of }: { name: string; parts: Part[]; of: (part: Part) => number | null }) {
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
function FlowOfMessages({ run: { account }, stages }: { run: Run; stages: readonly Stage[] }) {
  const { height, band, branches } = flowOf(account, stages);
  const part = account.scheduled > 0 ? account.arrived / account.scheduled : null;
  return (
    <>
      <p class="ends">
        <span>{count(account.scheduled)} scheduled</span>
        <span>
          {count(account.arrived)} arrived, {percent(part)}
        </span>
      </p>
      <div class="flow" style={{ height: `${height}px` }}>
        <svg viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {band.map(({ from, to, width }, i) => (
            <rect key={i} class="band" x={1000 * from} y={0} width={1000 * (to - from)} height={width} />
          ))}
          {branches.map((branch) => (
            <path key={branch.end} class="branch" d={outline(branch)} />
          ))}
        </svg>
        {branches.map(({ end, count: messages, from, to, ends, width }) => (
          <span
            key={end}
            class="loss"
            style={{
              top: `${ends + width / 2}px`,
              // To the right of a branch is no room for words behind the last stages.
              ...(to > 0.7 ? { right: `${100 * (1 - from)}%` } : { left: `${100 * to}%` }),
            }}
          >
            {count(messages)} {said(end)}, {percent(messages / account.scheduled)}
          </span>
        ))}
      </div>
    </>
  );
}
