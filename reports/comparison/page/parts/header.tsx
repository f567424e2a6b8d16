import { Fragment } from 'preact';
import { styleOf } from '../../../page/chart-options.ts';
import { Long } from '../../../page/table.tsx';
import type { Subject } from '../../comparison.ts';
import { SURVIVORS } from '../../words.ts';
import type { PartProps } from '../part.ts';
import { answers } from '../tell.ts';

/** Who is compared with whom, and what came out. */
export function Header({ comparison }: PartProps) {
  const { subjects } = comparison;
  return (
    <header>
      <p class="kind">Arrival comparison</p>
      <h1>{subjects.map(({ title }) => title).join(' – ')}</h1>
      <ul class="subjects">
        {subjects.map((subject, i) => (
          <SubjectLine key={subject.letter} subject={subject} index={i} />
        ))}
      </ul>
      {answers(comparison).map((sentence, i) => (
        <p class="answer" key={i}>
          {sentence}
        </p>
      ))}
    </header>
  );
}

function SubjectLine({ subject, index }: { subject: Subject; index: number }) {
  const { letter, title, runs, obstacle, profile, model, failed } = subject;
  const [first] = runs;
  return (
    <li>
      <p>
        <i
          class={`line ${styleOf(index).dash ?? 'solid'}`}
          style={{ borderColor: `var(--${styleOf(index).colour})` }}
        />
        <strong>{letter}</strong> <span class="title">{title}</span>
        {index === 0 && <span class="meaning"> baseline</span>}
      </p>
      <p class="meta">
        {first?.tool} · profile {profile} · {model} model
        {runs.length > 1 && ` · ${runs.length} runs`}
      </p>
      {runs.map((run) => (
        <Fragment key={run.name}>
          <p class="meta">
            <span class={`tag ${run.verdict}`}>{run.verdict}</span> {run.name}
            {!run.counted && <strong> · not counted</strong>}
          </p>
          {run.reasons.length > 0 && (
            <ul class="reasons">
              {run.reasons.map((reason, i) => (
                <li key={i}>
                  <Long text={reason} />
                </li>
              ))}
            </ul>
          )}
        </Fragment>
      ))}
      {obstacle !== null && <p class="worry">{obstacle}</p>}
      {failed !== null && (
        <p class="worry">
          {failed}: {SURVIVORS}
        </p>
      )}
    </li>
  );
}
