import { Fragment } from 'preact';
import { styleOf } from '../../../page/chart-series.ts';
import { Long, Table } from '../../../page/table.tsx';
import type { RunSummary, Subject } from '../../comparison.ts';
import { gateOf, outcomes } from '../../outcome.ts';
import { waterfalls } from '../../waterfall.ts';
import { resultText, SURVIVORS } from '../../words.ts';
import type { PageProps, PartProps } from '../part.ts';

/** What came out, what differs in settings, and who is compared with whom. */
export function Header({ comparison, served }: PageProps) {
  const { subjects } = comparison;
  const gate = gateOf(comparison);
  return (
    <header>
      <p class="kind">
        Arrival comparison
        {served && (
          <>
            {' · '}
            <a href="/">all runs</a>
          </>
        )}
      </p>
      <h1>{subjects.map(({ title }) => title).join(' – ')}</h1>
      {gate !== null && <p class={`gate ${gate.tone}`}>{gate.sentence}</p>}
      {outcomes(comparison).map(({ tone, sentence }) => (
        <p class={`outcome ${tone}`} key={sentence}>
          {sentence}
        </p>
      ))}
      {waterfalls(comparison).map((sentence) => (
        <p class="means" key={sentence}>
          {sentence}
        </p>
      ))}
      <Settings comparison={comparison} />
      <ul class="subjects">
        {subjects.map((subject, i) => (
          <SubjectLine key={subject.letter} subject={subject} index={i} />
        ))}
      </ul>
      <Conditions comparison={comparison} />
    </header>
  );
}

/** A difference may come from any of these. */
function Settings({ comparison: { subjects, differing } }: PartProps) {
  if (differing.length === 0)
    return <p class="aside">Load, limits, settings and environment are the same.</p>;
  return (
    <Table
      caption="What differs in load, limits, settings and environment"
      columns={[
        { head: 'name', text: true, cell: ({ name }) => name },
        ...subjects.map(({ letter }, i) => ({
          head: letter,
          text: true,
          cell: ({ values }: (typeof differing)[number]) => values[i],
        })),
      ]}
      rows={differing}
    />
  );
}

function Conditions({ comparison: { conditions = [] } }: PartProps) {
  if (conditions.length === 0) return null;
  return (
    <Table
      caption="Conditions of the gate"
      columns={[
        { head: 'condition', text: true, cell: ({ condition }) => condition },
        { head: 'of', text: true, cell: ({ subject }) => subject },
        {
          head: 'result',
          text: true,
          cell: ({ result }) => (
            <span class={result === 'passed' ? 'nowrap better' : 'nowrap worse'}>{resultText(result)}</span>
          ),
        },
        { head: 'measured', text: true, cell: ({ detail }) => detail },
      ]}
      rows={conditions}
    />
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
      {runs.map((run, i) => (
        <Fragment key={i}>
          <p class="meta">
            <span class={`tag ${run.verdict}`}>{run.verdict}</span> <Name run={run} />
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

function Name({ run: { name, page } }: { run: RunSummary }) {
  return page === undefined ? <span>{name}</span> : <a href={page}>{name}</a>;
}
