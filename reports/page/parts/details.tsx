import type { ComponentChildren } from 'preact';
import type { Rule, Run } from '../../contract/run.ts';
import { limitText, measuredText, rulesOf } from '../../rules.ts';
import { csv, download, hlog, messagesCsv } from '../download.ts';
import { count, duration, figure, local, plural } from '../format.ts';
import type { PartProps } from '../part.ts';
import { Facts, Long, LongTable, Table } from '../table.tsx';

/** A rule's name, with what its limit is made of. */
function Named({ rule: { name, basis, generator } }: { rule: Rule }) {
  return (
    <>
      {generator !== undefined && `generator ${generator}: `}
      <Long text={name} />
      {basis && (
        <small>
          <Long text={basis} />
        </small>
      )}
    </>
  );
}

/** What was asked, what went wrong, where it ran, how to run it again. */
export function DetailsSection({ run, sound, held }: PartProps & { held: Run }) {
  const { errors } = run;
  const rules = rulesOf(run)
    .filter(({ limit, ok }) => limit !== null || ok === false)
    .filter(({ unit }) => sound || unit !== 'ms')
    .sort((a, b) => Number(b.ok === false) - Number(a.ok === false));
  const pipeline = facts(run.environment.pipeline ?? {});
  const judged = (ok: boolean | null) =>
    !sound || ok === null ? 'not judged' : ok ? '✓ held' : '✕ did not hold';
  return (
    <>
      <section class="beside" id="details">
        <div class="rules" id="rules">
          <h2>Rules</h2>
          {rules.length === 0 ? (
            <p class="small">None.</p>
          ) : (
            <Table
              caption="Limits that the run was judged by: of the instrument, of the account and of the script"
              columns={[
                { head: 'rule', text: true, cell: (r) => <Named rule={r} /> },
                { head: 'limit', text: true, cell: (r) => <span class="nowrap">{limitText(r) || '–'}</span> },
                { head: 'measured', cell: measuredText },
                {
                  head: 'result',
                  text: true,
                  cell: (r) => (
                    <span class={sound && r.ok === false ? 'nowrap worry' : 'nowrap'}>{judged(r.ok)}</span>
                  ),
                },
              ]}
              rows={rules}
            />
          )}
        </div>
        <div>
          <h2>Errors</h2>
          {errors.length === 0 ? (
            <p class="small">None.</p>
          ) : (
            <Table
              caption="By stage and class, whole run"
              columns={[
                { head: 'stage', text: true, cell: (e) => e.stage },
                { head: 'class', text: true, cell: (e) => e.class },
                { head: 'count', cell: (e) => count(e.count) },
                { head: 'first one', text: true, cell: (e) => <Long text={e.example ?? '–'} code /> },
              ]}
              rows={errors}
            />
          )}
        </div>
      </section>
      <section>
        <h2>Environment</h2>
        <Facts facts={environment(run.environment)} />
      </section>
      {pipeline.length > 0 && (
        <section class="pipeline">
          <h2>Pipeline</h2>
          <Facts facts={pipeline} />
        </section>
      )}
      <Profile run={run} />
      <section>
        <h2>Run it again</h2>
        <pre>{run.run.command ?? 'The command is not known.'}</pre>
      </section>
      <Downloads run={held} />
      <footer>
        <p>
          Run {run.run.id} · {run.environment.arrival && `Arrival ${run.environment.arrival} · `}
          {run.schema} · all figures are in run.json beside this page. Concepts explains its words:{' '}
          <a href="../../CONCEPTS.md">reports/CONCEPTS.md</a>.
        </p>
      </footer>
    </>
  );
}

type Environment = PartProps['run']['environment'];

function environment(compact: Environment): [string, ComponentChildren][] {
  const {
    cpu,
    cores,
    memory_mb,
    kernel,
    os,
    go,
    arrival: _,
    shared_host,
    pipeline: _pipeline,
    git,
    ci,
    ...further
  } = compact;
  const known: [string, string | null][] = [
    ['processor', cpu],
    ['cores', cores === null ? null : count(cores)],
    ['memory', memory_mb === null ? null : `${count(memory_mb)} MB`],
    ['system', [os, kernel].filter((part) => part !== null).join(' ') || null],
    ['built with', go],
    ['pipeline', shared_host === null ? null : shared_host ? 'on the same host' : 'on other hosts'],
  ];
  return [
    ...known.map(([name, value]): [string, string] => [name, value ?? 'not available']),
    ...facts(further),
    ...cameFrom(git, ci),
  ];
}

function cameFrom(git: Environment['git'], ci: Environment['ci']): [string, ComponentChildren][] {
  const all: [string, ComponentChildren][] = [];
  if (git) all.push(['commit', `${git.commit}${git.dirty ? ', with uncommitted changes' : ''}`]);
  if (git?.branch) all.push(['branch', git.branch]);
  if (ci) {
    const words = [ci.name, ci.job].filter((part) => part !== null).join(': ');
    const linked = /^https?:/.test(ci.url ?? ''); // anything else may be a script
    all.push(['CI job', linked ? <a href={ci.url ?? ''}>{words}</a> : words]);
  }
  return all;
}

/** Names and values as the run tells them. */
function facts(compact: Record<string, unknown>): [string, string][] {
  return Object.entries(compact).map(([name, value]) => [
    name.replaceAll('_', ' '),
    typeof value === 'number'
      ? local(value, { maximumFractionDigits: 3 })
      : value === null
        ? 'not available'
        : typeof value === 'boolean'
          ? value
            ? 'yes'
            : 'no'
          : String(value),
  ]);
}

/** The load as it was planned. */
function Profile({ run: { run } }: { run: PartProps['run'] }) {
  const { name, phases } = run.profile;
  if (phases.length === 0) return null;
  const closed = run.model === 'closed';
  return (
    <section>
      <h2>Profile</h2>
      <LongTable
        what="phases"
        caption={`${name.slice(0, 200)}, as planned: ${closed ? 'so many VUs send one request after the other' : 'requests are due at these rates'}`}
        columns={[
          { head: 'phase', text: true, cell: (phase) => phase.name },
          { head: 'duration', cell: lengthOf },
          ...(closed
            ? [{ head: 'VUs', cell: (phase: Phase) => count(phase.vus) }]
            : [
                { head: 'from', unit: 'requests/s', cell: (phase: Phase) => figure(phase.arrival_rate) },
                {
                  head: 'to',
                  unit: 'requests/s',
                  cell: (phase: Phase) => figure(phase.ramp_to ?? phase.arrival_rate),
                },
              ]),
          { head: 'measured', text: true, cell: (phase) => (phase.measured ? 'yes' : 'no') },
        ]}
        rows={phases}
      />
    </section>
  );
}

type Phase = PartProps['run']['run']['profile']['phases'][number];

/** 60 s, or what ends the phase before its duration does. */
function lengthOf({ duration_s, requests }: Phase): string {
  return requests === undefined
    ? duration(duration_s)
    : `${plural(requests, 'request')}, at most ${duration(duration_s)}`;
}

/** Files made from what the page holds. */
function Downloads({ run }: { run: PartProps['run'] }) {
  const log = hlog(run);
  const messages = messagesCsv(run);
  // A name of the user's, for a file: what is no letter, digit, dot or dash is left out.
  const name =
    run.run.name
      .replace(/[^\w.-]+/g, '-')
      .replace(/^[.-]+/, '')
      .slice(0, 80) || 'run';
  return (
    <section class="screen">
      <h2>Downloads</h2>
      <p class="downloads">
        <button type="button" onClick={() => download(`${name}.csv`, 'text/csv', csv(run))}>
          Timeline (CSV)
        </button>
        {messages !== null && (
          <button type="button" onClick={() => download(`${name}.messages.csv`, 'text/csv', messages)}>
            Messages (CSV)
          </button>
        )}
        <button
          type="button"
          onClick={() => download(`${name}.json`, 'application/json', `${JSON.stringify(run)}\n`)}
        >
          run.json
        </button>
        {log !== null && (
          <button type="button" onClick={() => download(`${name}.hlog`, 'text/plain', log)}>
            Histograms (.hlog)
          </button>
        )}
      </p>
      <p class="small">
        Made from this page. Histograms of single phases and seconds are in the run’s directory only: run.json
        and arrival.hlog.
      </p>
    </section>
  );
}
