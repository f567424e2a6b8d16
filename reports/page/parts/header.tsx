import type { VerdictResult } from '../../contract/run.ts';
import { answer, type PercentileKey, percentile, protocolOf, scriptFigures, verdict } from '../facts.ts';
import { findings } from '../findings.ts';
import { duration, instant, ms, plural } from '../format.ts';
import { canaryPace, canarySentence } from '../health.ts';
import type { PartProps } from '../part.ts';
import { Facts, Long } from '../table.tsx';
import { InstrumentLine } from './instrument.tsx';

const MARKS: Record<VerdictResult, { mark: string; meaning: string }> = {
  pass: { mark: '✓', meaning: 'every limit held' },
  fail: { mark: '✕', meaning: 'a limit did not hold, or messages did not arrive' },
  invalid: { mark: '!', meaning: 'these figures do not tell how the pipeline did' },
  incomplete: { mark: '…', meaning: 'the run did not reach its end, or a limit was not judged' },
};

/** Name, verdict, the result in a sentence, the figures that matter most. */
export function Header({ run, sound }: PartProps) {
  const { result, reasons, stands = [] } = verdict(run);
  const { mark, meaning } = MARKS[result];
  const loss = result !== 'pass' ? '' : run.account.lost > 0 ? '; a loss was allowed' : ', nothing was lost';
  return (
    <header>
      <p class="kind">Arrival report</p>
      <h1 title={run.run.name}>{run.run.name}</h1>
      <p class="meta" title={about(run.run)}>
        {about(run.run)}
      </p>
      <section class={`verdict ${result}`} aria-label="Verdict">
        <p class="result">
          <span class="mark" aria-hidden="true">
            {mark}
          </span>
          <strong>{result}</strong>
          <span class="meaning">
            {meaning}
            {loss}
          </span>
        </p>
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
          <p>The latency of {protocolOf(run)} requests can be trusted; when messages arrived can not.</p>
        )}
        <InstrumentLine run={run} sound={sound} />
      </section>
      <p class="answer">{answer(run).join(' ')}</p>
      {run.environment.shared_host && (
        <p class="aside">
          Generator and pipeline shared one host
          {run.environment.cores !== null && ` and its ${plural(run.environment.cores, 'core')}`}: part of
          every latency is their competition for it.
        </p>
      )}
      {run.run.model === 'closed' && (
        <p class="aside">
          The model is closed: a VU sends its next request when the last one is answered, and a message is due
          when it is sent, so schedule is 0 and the latency from send equals arrival.
        </p>
      )}
      {sound && <Headline run={run} sound={sound} />}
      <ScriptFigures run={run} />
      <Findings run={run} sound={sound} />
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

/** What the script says beyond what every run says. */
function ScriptFigures({ run: { figures = [], run } }: { run: PartProps['run'] }) {
  if (figures.length === 0) return null;
  return (
    <section class="script" aria-label="Figures of the script">
      <h2>Figures of {run.method.slice(0, 60)}</h2>
      <Facts facts={scriptFigures(figures)} />
    </section>
  );
}

/** What stands out; nothing where nothing does. */
function Findings({ run, sound }: PartProps) {
  const found = findings(run, sound);
  if (found.length === 0) return null;
  return (
    <section class="findings" aria-label="Findings">
      <h2>Findings</h2>
      <ul>
        {found.map(({ text, worry }, i) => (
          <li key={i} class={worry ? 'gave-way' : ''}>
            {text}
          </li>
        ))}
      </ul>
    </section>
  );
}

const ARRIVAL: PercentileKey[] = ['p50', 'p95', 'p99'];
const REQUEST: PercentileKey[] = ['p50', 'p99'];

function Headline({ run }: PartProps) {
  const { arrival, http } = run.latency;
  const canary = canarySentence(run);
  const protocol = protocolOf(run);
  const due = run.run.model === 'closed' ? 'sent' : 'due';
  if (arrival.count === 0 && http.count === 0) return null;
  return (
    <div class="headline">
      <section aria-label="Arrival latency, ms">
        <h2>Arrival</h2>
        <p>
          from when a message was {due} until it arrived · {plural(arrival.count, 'delivery', 'deliveries')}
        </p>
        <dl>
          {ARRIVAL.map((key) => (
            <Figure key={key} name={key} value={percentile(arrival, key)} />
          ))}
          <Figure name="max" value={arrival.max} />
        </dl>
      </section>
      <section aria-label={`${protocol} latency, ms`}>
        <h2>{protocol}</h2>
        <p>from sending a request until its answer · {plural(http.count, 'request')}</p>
        <dl>
          {REQUEST.map((key) => (
            <Figure key={key} name={key} value={percentile(http, key)} />
          ))}
        </dl>
      </section>
      {canary && run.canary && (
        <p class="canary">
          <strong>{canary}</strong> It sends {canaryPace(run.canary.interval_s)} on a connection of its own:
          if it is as slow as the load, the pipeline is slow; if it is not, the instrument is, or what only
          the load’s connections share.
        </p>
      )}
    </div>
  );
}

function Figure({ name, value }: { name: string; value: number | null }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value === null ? '–' : ms(value)}{' '}
        <span class="unit">{value === null ? 'too few samples' : 'ms'}</span>
      </dd>
    </div>
  );
}
