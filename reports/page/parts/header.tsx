import type { VerdictResult } from '../../contract/run.ts';
import { changeText, commit, count, duration, glued, instant, plural, visible } from '../../format.ts';
import type { Before } from '../before.ts';
import { scriptFigures } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { Facts, Long } from '../table.tsx';
import { AccountLine } from './account.tsx';
import { FurtherCharts, Hero } from './hero.tsx';
import { InstrumentLine } from './instrument.tsx';
import { Journey } from './journey.tsx';

const MARKS: Record<VerdictResult, string> = { pass: '✓', fail: '✕', invalid: '!', incomplete: '…' };

/** The place where the page was opened. */
export interface Place {
  /** The history serves the page. */
  served: boolean;
  before: Before | null;
}

/** The first screen: the verdict, the answer, the figures that matter most. */
export function Header({ run, sound, served, before }: PartProps & Place) {
  const { result, meaning, doubts } = run.verdict;
  const { reasons, warnings } = run.facts;
  const next = run.findings?.find((finding) => finding.next)?.next;
  return (
    <header id="summary" class={result}>
      <p class="kind">
        Arrival report
        {served && (
          <>
            {' · '}
            <a href="/">all runs</a>
          </>
        )}
      </p>
      <h1 title={run.run.name}>{run.run.name}</h1>
      <p class="meta" title={about(run)}>
        {about(run)}
      </p>
      <Origin {...run.environment} />
      <SinceBefore before={before} />
      <section class={`verdict ${result}`} aria-label="Verdict">
        <div class="result">
          <span class="mark" aria-hidden="true">
            {MARKS[result]}
          </span>
          <h2>
            <strong>{result}</strong>
          </h2>
          <span class="meaning">{glued(meaning)}</span>
        </div>
        {run.answer?.sentence && <p class="answer">{glued(run.answer.sentence)}</p>}
        {next && (
          <p class="next">
            <strong>Next:</strong> {glued(next)}
          </p>
        )}
        <Points points={[...reasons, ...doubts.map((doubt) => `in doubt: ${doubt}`)]} />
        {warnings && (
          <p class="warnings">
            <a href="#findings">{glued(warnings)}</a>
          </p>
        )}
      </section>
      <Summary run={run} sound={sound} />
      <ScriptFigures run={run} />
    </header>
  );
}

/** Points that a verdict shows at once. */
const FIRST_POINTS = 5;

/** Why the verdict is what it is, and what is in doubt; where that is much, the rest behind its count. */
function Points({ points }: { points: string[] }) {
  if (points.length === 0) return null;
  const list = (some: string[]) => (
    <ul>
      {some.map((point, i) => (
        <li key={i}>
          <Long text={point} />
        </li>
      ))}
    </ul>
  );
  // A fold of one is as long as its point.
  if (points.length <= FIRST_POINTS + 1) return list(points);
  return (
    <>
      {list(points.slice(0, FIRST_POINTS))}
      <details class="line">
        <summary>{count(points.length - FIRST_POINTS)} more</summary>
        {list(points.slice(FIRST_POINTS))}
      </details>
    </>
  );
}

/** Figures beside their limits, the chart that answers the run's question, and the way of the messages. */
function Summary({ run, sound }: PartProps) {
  return (
    <>
      {sound && <Tiles run={run} />}
      {run.facts.slower_requests && <p class="small why">{run.facts.slower_requests}</p>}
      <Hero run={run} sound={sound} />
      {sound && <Journey run={run} />}
      <FurtherCharts run={run} sound={sound} />
      <AccountLine run={run} sound={sound} />
      <InstrumentLine run={run} sound={sound} />
    </>
  );
}

/** The figures that matter most, each beside what it is to be held against. */
function Tiles({ run: { facts } }: Pick<PartProps, 'run'>) {
  if (facts.tiles.length === 0) return null;
  return (
    <dl class="tiles">
      {facts.tiles.map(({ name, text, unit, note, doubt, worry, estimator }) => (
        <div key={name} title={estimator}>
          <dt>{name}</dt>
          <dd class={`${worry ? 'worry' : ''} ${doubt === '' ? '' : 'doubt'}`.trim()}>
            {text} {unit && <span class="unit">{unit}</span>}
          </dd>
          <dd class="note">{glued(note)}</dd>
        </div>
      ))}
    </dl>
  );
}

function about({ run, generators = [], facts: { duration_s } }: PartProps['run']): string {
  const { tool, started } = run;
  return [
    instant(started),
    duration_s === null ? 'not ended' : duration(duration_s),
    `${tool.name}${tool.version === null ? '' : ` ${tool.version}`}`,
    ...(generators.length > 1 ? [plural(generators.length, 'generator')] : []),
    `profile ${run.profile.name}`,
    ...(run.model === 'closed' ? ['closed model'] : []),
    run.topology,
    run.network,
    ...Object.entries(run.labels).map(([name, value]) => `${name}: ${value}`),
  ].join(' · ');
}

/** The commit and the CI job; nothing where they are not known. */
function Origin({ git, ci }: Pick<PartProps['run']['environment'], 'git' | 'ci'>) {
  if (!git && !ci) return null;
  const words = ci && [ci.name, ci.job].filter((part) => part !== null).join(': ');
  return (
    <p class="meta">
      {git && `commit ${commit(git.commit)}`}
      {git?.branch && ` on ${git.branch}`}
      {git?.dirty && ', with uncommitted changes'}
      {git && ci && ' · '}
      {ci && (/^https?:/.test(ci.url ?? '') ? <a href={ci.url ?? ''}>{words}</a> : words)}
    </p>
  );
}

/** The change from the last run of the same load. */
function SinceBefore({ before }: { before: Before | null }) {
  if (before === null) return null;
  const { name, p99, comparison } = before;
  return (
    <p class="meta">
      arrival p99 {changeText(p99)} since {visible(name)}: <a href={comparison}>compare</a>
    </p>
  );
}

/** Figures that this script adds to those of every run. */
function ScriptFigures({ run: { figures = [], run } }: { run: PartProps['run'] }) {
  if (figures.length === 0) return null;
  return (
    <section class="script" aria-label="Figures of the script">
      <h2>Figures of {run.method.slice(0, 60)}</h2>
      <Facts facts={scriptFigures(figures)} />
    </section>
  );
}
