import { instant, msUnit } from '../../format.ts';
import { type Column, Long, Table } from '../../page/table.tsx';
import {
  answerOf,
  campaign,
  commandsOf,
  conditionsOf,
  kindsOf,
  LEGEND,
  type Mark,
  markOf,
  missingOf,
  toolsOf,
  unusedOf,
} from '../facts.ts';
import type { Referee, ToolEntry } from '../result.ts';
import { TruthSection } from './truth.tsx';

/** ResultProps is what each part of the page is given. */
export interface ResultProps {
  result: Referee;
}

/** The whole page, the answer first. */
export function Page({ result }: ResultProps) {
  return (
    <>
      <header>
        <p class="kind">Arrival referee</p>
        <h1>How far off is each load generator?</h1>
        <p class="meta">{conditionsOf(result).join(' · ')}</p>
        {answerOf(result).map((sentence) => (
          <p class="outcome" key={sentence}>
            {sentence}
          </p>
        ))}
        <Overview result={result} />
        <Missing result={result} />
      </header>
      <Kinds result={result} />
      {result.truths.map((truth) => (
        <TruthSection key={truth.name} result={result} truth={truth} />
      ))}
      <Commands result={result} />
      <footer>
        <p>
          {result.schema} · {instant(result.started)} · all figures and the command of each run are in
          referee.json beside this page
        </p>
      </footer>
    </>
  );
}

/** Each tool under each truth. */
function Overview({ result }: ResultProps) {
  const columns: Column<ToolEntry>[] = [
    {
      head: 'load generator',
      text: true,
      cell: ({ title, version, model }) => (
        <>
          {title}
          <small>{[version, model].filter((text) => text !== null && text !== '').join(' · ')}</small>
        </>
      ),
    },
    ...result.truths.map((truth) => ({
      head: truth.name,
      unit: `p99 ${msUnit(truth.due.p99_ms)}`,
      cell: ({ name }: ToolEntry) => <Off mark={markOf(result, name, truth)} />,
    })),
  ];
  return (
    <div class="overview">
      <Table caption={LEGEND} columns={columns} rows={toolsOf(result)} />
    </div>
  );
}

/** How far off a figure is; its sign says what the colour does. */
function Off({ mark: { tone, far, text, figure, range } }: { mark: Mark }) {
  return (
    <div class={`mark ${tone}${far ? ' far' : ''}`}>
      {text}
      {figure !== '' && <small>{figure}</small>}
      {range !== '' && <small>{range}</small>}
    </div>
  );
}

/** What was asked for and did not run, never guessed. */
function Missing({ result }: ResultProps) {
  const [missing, unused] = [missingOf(result), unusedOf(result)];
  return (
    <>
      {missing.length > 0 && (
        <p class="aside">Not installed, so not measured: {missing.map(({ title }) => title).join(', ')}.</p>
      )}
      {unused.length > 0 && (
        <details class="aside line">
          <summary>Runs that are kept but not used: {unused.length}</summary>
          <ul>
            {unused.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Kinds({ result }: ResultProps) {
  return (
    <section>
      <h2>Why each kind errs</h2>
      <div class="kinds">
        {kindsOf(result).map(({ title, text, rows }) => (
          <div key={title}>
            <h3>{title}</h3>
            <p>{text}</p>
            {rows !== '' && <p class="small">Here: {rows}.</p>}
          </div>
        ))}
      </div>
    </section>
  );
}

/** What each row is, and how to repeat and dispute it. */
function Commands({ result }: ResultProps) {
  return (
    <section>
      <h2>Repeat it</h2>
      <pre>{campaign(result)}</pre>
      <p class="aside">For one row or one cell, add --tools and --truths with the names on this page.</p>
      <div class="commands">
        {[...toolsOf(result), ...missingOf(result)].map(({ name, title, version, why, install }) => (
          <div key={name}>
            <h3>
              {title} <span class="unit">--tools {name}</span>
            </h3>
            <p>{why}</p>
            {version === null ? (
              <p class="small">
                Not installed: <code>{install}</code>
              </p>
            ) : (
              commandsOf(result, name).map(({ command, truths }) => (
                <p class="small" key={command}>
                  {truths}: <Long text={command} code />
                </p>
              ))
            )}
          </div>
        ))}
      </div>
    </section>
  );
}
