import { csv, download, hlog, messagesCsv } from '../download.ts';
import type { PartProps } from '../part.ts';

/** Files made from what the page holds. */
export function Downloads({ run }: { run: PartProps['run'] }) {
  const log = hlog(run);
  const messages = messagesCsv(run);
  // The user's name of the run, for a file name: only letters, digits, dots and dashes are kept.
  const name =
    run.run.name
      .replace(/[^\w.-]+/g, '-')
      .replace(/^[.-]+/, '')
      .slice(0, 80) || 'run';
  return (
    <div class="screen">
      <h3>Downloads</h3>
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
    </div>
  );
}
