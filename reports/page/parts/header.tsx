import type { VerdictResult } from '../../contract/run.ts';
import { type Before, readBefore } from '../before.ts';
import { protocolOf, scriptFigures, verdict } from '../facts.ts';
import { changeText, commit, duration, glued, instant, visible } from '../format.ts';
import type { PartProps } from '../part.ts';
import { Facts, Long } from '../table.tsx';
import { Summary } from './summary.tsx';

const MARKS: Record<VerdictResult, { mark: string; meaning: string }> = {
  pass: { mark: '✓', meaning: 'every limit held' },
  fail: { mark: '✕', meaning: 'a limit did not hold, or messages did not arrive' },
  invalid: { mark: '!', meaning: 'the figures are not those of the pipeline alone' },
  incomplete: { mark: '…', meaning: 'the run did not reach its end, or a limit was not judged' },
};

/** The first screen: the verdict, the answer, the figures that matter most. */
export function Header({ run, sound }: PartProps) {
  const { result, reasons, stands = [] } = verdict(run);
  const { mark, meaning } = MARKS[result];
  const loss = result !== 'pass' ? '' : run.account.lost > 0 ? '; a loss was allowed' : ', nothing was lost';
  return (
    <header id="summary" class={result}>
      <p class="kind">
        Arrival report
        {/^\/runs\//.test(location.pathname) && (
          <>
            {' · '}
            <a href="/">all runs</a>
          </>
        )}
      </p>
      <h1 title={run.run.name}>{run.run.name}</h1>
      <p class="meta" title={about(run.run)}>
        {about(run.run)}
      </p>
      <Origin {...run.environment} />
      <SinceBefore before={readBefore()} />
      <section class={`verdict ${result}`} aria-label="Verdict">
        <div class="result">
          <span class="mark" aria-hidden="true">
            {mark}
          </span>
          <h2>
            <strong>{result}</strong>
          </h2>
          <span class="meaning">
            {meaning}
            {loss}
          </span>
        </div>
        {run.answer?.sentence && <p class="answer">{glued(run.answer.sentence)}</p>}
        {reasons.length > 0 && (
          <ul>
            {reasons.map((reason, i) => (
              <li key={i}>
                <Long text={reason} />
              </li>
            ))}
          </ul>
        )}
        {stands.includes('http') && (
          <p>The latency of {protocolOf(run)} requests can be trusted, that of arrivals can not.</p>
        )}
      </section>
      <Summary run={run} sound={sound} />
      <ScriptFigures run={run} />
    </header>
  );
}

function about(run: PartProps['run']['run']): string {
  const { tool, started, ended } = run;
  const length = ended === null ? null : (Date.parse(ended) - Date.parse(started)) / 1000;
  return [
    instant(started),
    length === null ? 'not ended' : duration(length),
    `${tool.name}${tool.version === null ? '' : ` ${tool.version}`}`,
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
