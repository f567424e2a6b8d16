import { styleOf } from '../../../page/chart-options.ts';
import type { Subject } from '../../comparison.ts';
import { SURVIVORS } from '../../words.ts';
import type { PartProps } from '../page.tsx';
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
        <p class="meta" key={run.name}>
          <span class={`tag ${run.verdict}`}>{run.verdict}</span> {run.name}
          {!run.counted && <strong> · not counted</strong>}
          {run.reasons.length > 0 && ` · ${run.reasons.join('; ')}`}
        </p>
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
