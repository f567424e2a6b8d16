import { count, figure } from '../format.ts';
import type { PartProps } from '../report.tsx';
import { Facts, Table } from '../table.tsx';

/** What was asked, what went wrong, where it ran, how to run it again. */
export function DetailsSection({ run, sound }: PartProps) {
  const { thresholds, errors } = run;
  const judged = (ok: boolean | null) =>
    !sound || ok === null ? 'not judged' : ok ? '✓ held' : '✕ did not hold';
  return (
    <>
      <section class="beside">
        <div>
          <h2>Thresholds</h2>
          {thresholds.length === 0 ? (
            <p class="small">None.</p>
          ) : (
            <Table
              caption="In k6’s notation; latencies in ms"
              columns={[
                { head: 'metric', text: true, cell: (t) => t.metric },
                { head: 'required', text: true, cell: (t) => <code>{t.expression}</code> },
                {
                  head: 'result',
                  text: true,
                  cell: (t) => <span class={sound && t.ok === false ? 'worry' : ''}>{judged(t.ok)}</span>,
                },
              ]}
              rows={thresholds}
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
                { head: 'first one', text: true, cell: (e) => <code>{e.example ?? '–'}</code> },
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
      <section>
        <h2>Run it again</h2>
        <pre>{run.run.command ?? 'The command is not known.'}</pre>
      </section>
      <footer>
        <p>
          Run {run.run.id} · {run.schema} · all figures of this page are in run.json beside it.
        </p>
      </footer>
    </>
  );
}

function environment(facts: PartProps['run']['environment']): [string, string][] {
  const { cpu, cores, memory_mb, kernel, os, go, shared_host, pipeline, ...further } = facts;
  const known: [string, string | null][] = [
    ['processor', cpu],
    ['cores', cores === null ? null : count(cores)],
    ['memory', memory_mb === null ? null : `${count(memory_mb)} MB`],
    ['system', [os, kernel].filter((part) => part !== null).join(' ') || null],
    ['built with', go],
    ['pipeline', shared_host === null ? null : shared_host ? 'on the same host' : 'on other hosts'],
    ...Object.entries({ ...further, ...pipeline }).map(([name, value]): [string, string | null] => [
      name.replaceAll('_', ' '),
      typeof value === 'number' ? figure(value) : value === null ? null : String(value),
    ]),
  ];
  return known.map(([name, value]) => [name, value ?? 'not available']);
}
