import type { Run, Spans } from '../../contract/run.ts';
import { count, glued, ms, msUnit, percent, plural } from '../../format.ts';
import { colourOf } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { Facts, Table } from '../table.tsx';
import { Id } from './messages.tsx';
import { WithBound } from './stages.tsx';

type Message = Spans['slowest'][number];

/** Waterfalls that are open at once. */
const FIRST = 3;

/** Stages of sampled messages, by the spans of the pipeline's own traces. */
export function SpansPart({ run }: PartProps) {
  const { spans } = run;
  if (!spans) return null;
  const names = run.facts.span_stages.map(({ name }) => name);
  /** Its spans are joined later. */
  const waits = spans.listen === '' && spans.received.requests === 0;
  return (
    <div class="spans" id="spans">
      <h3>By the pipeline’s own spans</h3>
      <p>
        {glued(run.facts.span_head)}.
        {!waits && spans.traced > 0 && spans.count === 0 && (
          <>
            {' '}
            <code>k6 x arrival spans --suggest</code> proposes which spans divide the time.
          </>
        )}
      </p>
      {!waits && (
        <div class="beside">
          {names.length > 0 && <StageTable run={run} spans={spans} names={names} />}
          <Facts facts={factsOf(spans, run.facts.span_left)} />
        </div>
      )}
      {spans.slowest.length > 0 && <Waterfalls messages={spans.slowest} names={names} />}
    </div>
  );
}

function StageTable({ run, spans, names }: { run: Run; spans: Spans; names: string[] }) {
  const { arrival, difference } = spans;
  return (
    <div>
      <Table
        caption={`ms, and share of their mean arrival; ${count(spans.count)} deliveries. ±: the mean of all deliveries is within it, with 95 % confidence`}
        columns={[
          {
            head: 'stage',
            text: true,
            cell: ({ name }) => (
              <>
                <i class="swatch" style={{ background: `var(--${colourOf(names, name)})` }} /> {name}
              </>
            ),
          },
          { head: 'mean', cell: ({ mean_ms, error_ms }) => `${ms(mean_ms)} ±${ms(error_ms)}` },
          { head: 'share', cell: ({ share }) => percent(share) },
          { head: 'p50', cell: (stage) => <WithBound {...stage} /> },
          { head: 'p99', cell: ({ p99_ms }) => ms(p99_ms) },
          { head: 'max', cell: ({ max_ms }) => ms(max_ms) },
        ]}
        rows={run.facts.span_stages}
        foot={[
          'sum of the means',
          `${ms(arrival.mean)} ±${ms(arrival.error)}`,
          '',
          ms(arrival.p50),
          ms(arrival.p99),
          ms(arrival.max),
        ]}
      />
      <p class="small">
        The means add up to the mean arrival of these deliveries; that of all is{' '}
        {msUnit(run.latency.arrival.mean)}, which is{' '}
        {difference.mean === null
          ? 'not known'
          : `${msUnit(Math.abs(difference.mean))} ${difference.mean > 0 ? 'less' : 'more'}`}
        . Percentiles: of these deliveries, and the last row’s of their arrival.
      </p>
    </div>
  );
}

/** The source of the spans, what was left out of the stages and why, and the clocks. */
function factsOf(spans: Spans, left: string): [string, string][] {
  const { received } = spans;
  const unused = spans.marks.filter(({ used }) => !used).map(({ mark, seen }) => `${mark} (${count(seen)})`);
  const lost = [
    ...(received.others > 0 ? [`${count(received.others)} of other traces`] : []),
    ...(received.malformed > 0 ? [`${count(received.malformed)} malformed`] : []),
    ...(received.dropped > 0 ? [`${count(received.dropped)} for which there was no room`] : []),
    ...(received.refused > 0 ? [`${plural(received.refused, 'request')} refused`] : []),
  ];
  return [
    ...spans.marks.filter(({ used }) => used).map(({ mark, span }): [string, string] => [mark, span]),
    ...(unused.length > 0
      ? [['marks that this pipeline does not make', unused.join(', ')] as [string, string]]
      : []),
    ['left out of the stages', left || 'none'],
    ['spans not used', lost.join(', ') || 'none'],
    ...spans.clocks.map(({ host, offset_ms, bound_ms, basis }): [string, string] => [
      `clock of ${host}`,
      basis === 'same host'
        ? `the generator’s${bound_ms > 0 ? `, ±${msUnit(bound_ms)}: its spans begin at whole ms` : ''}`
        : `${offset_ms === 0 ? '' : offset_ms < 0 ? '−' : '+'}${ms(Math.abs(offset_ms))} ±${msUnit(bound_ms)}, by ${basis === 'redis' ? 'the clock of Redis' : 'the traces'}` +
          (basis === 'disagree' ? ', which disagree: it was set, or drifts' : ''),
    ]),
  ];
}

function Waterfalls({ messages, names }: { messages: Message[]; names: string[] }) {
  return (
    <>
      <h4>The slowest sampled messages</h4>
      {messages.map((message, i) => (
        <details key={i} class="waterfall" open={i < FIRST}>
          <summary>
            {msUnit(message.arrival_ms)} · {message.id}
          </summary>
          <p class="small">
            trace <Id id={message.trace} />
          </p>
          <Waterfall message={message} names={names} />
        </details>
      ))}
    </>
  );
}

/** The stages of a message, and below them its spans; the time goes from left to right. */
function Waterfall({
  message: { arrival_ms, stages_ms, spans },
  names,
}: {
  message: Message;
  names: string[];
}) {
  const end = Math.max(arrival_ms, ...spans.map(({ end_ms }) => end_ms));
  const begin = Math.min(0, ...spans.map(({ start_ms }) => start_ms));
  const percentOf = (at: number) => `${(100 * at) / (end - begin || 1)}%`;
  let at = -begin;
  const ends = (stages_ms.length > 0 ? stages_ms : [arrival_ms]).map((part) => {
    const from = at;
    at += part;
    return { from, part };
  });
  return (
    <ol>
      <li>
        <span>due → arrived</span>
        <span class="lane" aria-hidden="true">
          {ends.map(({ from, part }, i) => (
            <i
              key={i}
              style={{
                left: percentOf(from),
                width: percentOf(Math.max(0, part)),
                ...(names[i] !== undefined && { background: `var(--${colourOf(names, names[i])})` }),
              }}
            />
          ))}
        </span>
        <span class="figure">{msUnit(arrival_ms)}</span>
      </li>
      {spans.map(({ service, name, kind, depth, start_ms, end_ms }, i) => (
        <li key={i}>
          <span style={{ paddingLeft: `${Math.min(depth, 8)}em` }}>
            {name} <small>{[service, kind].filter(Boolean).join(', ')}</small>
          </span>
          <span class="lane" aria-hidden="true">
            <i style={{ left: percentOf(start_ms - begin), width: percentOf(end_ms - start_ms) }} />
          </span>
          <span class="figure">
            {ms(start_ms)} – {msUnit(end_ms)}
          </span>
        </li>
      ))}
    </ol>
  );
}
