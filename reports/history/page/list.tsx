import { useEffect, useState } from 'preact/hooks';
import { plural, visible } from '../../page/format.ts';
import type { Entry, Listing } from '../entry.ts';
import { compareOf, type Filter, listOf } from './links.ts';
import { Runs } from './runs.tsx';

const PAGE = 50;
const REFRESH_MS = 5000;
/** What the server compares at once. */
const MOST_COMPARED = 12;

/** The runs, newest first; two that are ticked can be compared. */
export function List() {
  const [filter, setFilter] = useState<Filter>({ text: '', label: '' });
  const [limit, setLimit] = useState(PAGE);
  const { listing, error } = useListing(filter, limit);
  const [ticked, setTicked] = useState<Entry[]>([]);
  const tick = (entry: Entry) =>
    setTicked((all) =>
      all.some(({ directory }) => directory === entry.directory)
        ? all.filter(({ directory }) => directory !== entry.directory)
        : [...all, entry],
    );
  return (
    <>
      <header>
        <p class="kind">Arrival</p>
        <h1>Runs</h1>
        <Search filter={filter} labels={listing?.labels ?? []} onChange={setFilter} />
      </header>
      {error !== null && (
        <p class="worry" role="alert">
          {visible(error)}
        </p>
      )}
      {listing !== null && (
        <section>
          <h2>{found(listing, filter)}</h2>
          <Compare ticked={ticked} onClear={() => setTicked([])} />
          {listing.runs.length > 0 && (
            <Runs runs={listing.runs} ticked={ticked.map(({ directory }) => directory)} onTick={tick} />
          )}
          {listing.runs.length < listing.matching && (
            <button type="button" onClick={() => setLimit(limit + PAGE)}>
              Show {Math.min(PAGE, listing.matching - listing.runs.length)} more
            </button>
          )}
          {listing.misfits.length > 0 && <Misfits misfits={listing.misfits} />}
        </section>
      )}
    </>
  );
}

function found({ matching, total }: Listing, { text, label }: Filter): string {
  if (total === 0) return 'No runs yet: npm run ramp makes one';
  return text.trim() === '' && label === '' ? plural(total, 'run') : `${matching} of ${plural(total, 'run')}`;
}

/** The list as it is now, and again every few seconds while somebody looks at it. */
function useListing(filter: Filter, limit: number): { listing: Listing | null; error: string | null } {
  const [state, setState] = useState<{ listing: Listing | null; error: string | null }>({
    listing: null,
    error: null,
  });
  useEffect(() => {
    const gone = new AbortController();
    const load = async () => {
      if (document.hidden) return;
      try {
        const answer = await fetch(listOf(filter, limit), { signal: gone.signal });
        if (!answer.ok) throw new Error(await answer.text());
        setState({ listing: await answer.json(), error: null });
      } catch (error) {
        if (gone.signal.aborted) return;
        setState((before) => ({ ...before, error: `The list cannot be read: ${(error as Error).message}` }));
      }
    };
    load();
    const timer = setInterval(load, REFRESH_MS);
    document.addEventListener('visibilitychange', load);
    return () => {
      gone.abort();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', load);
    };
  }, [filter.text, filter.label, limit]);
  return state;
}

interface SearchProps {
  filter: Filter;
  labels: string[];
  onChange: (filter: Filter) => void;
}

function Search({ filter, labels, onChange }: SearchProps) {
  return (
    <search class="filter">
      <label>
        Find{' '}
        <input
          type="search"
          maxLength={500}
          value={filter.text}
          placeholder="name, profile, verdict, label"
          onInput={(event) => onChange({ ...filter, text: event.currentTarget.value })}
        />
      </label>
      {labels.length > 0 && (
        <label>
          Label{' '}
          <select
            value={filter.label}
            onChange={(event) => onChange({ ...filter, label: event.currentTarget.value })}
          >
            <option value="">all</option>
            {labels.map((label) => (
              <option key={label} value={label}>
                {visible(label.length > 60 ? `${label.slice(0, 59)}…` : label)}
              </option>
            ))}
          </select>
        </label>
      )}
    </search>
  );
}

/** The earliest of the ticked runs is the baseline. */
function Compare({ ticked, onClear }: { ticked: Entry[]; onClear: () => void }) {
  const ordered = [...ticked]
    .sort((a, b) => (a.started < b.started ? -1 : 1))
    .map(({ directory }) => directory);
  const ready = ordered.length >= 2 && ordered.length <= MOST_COMPARED;
  return (
    <p class="compare" role="status">
      {ready ? (
        <a class="button" href={compareOf(ordered)}>
          Compare {ordered.length} runs
        </a>
      ) : (
        <span class="small">
          {ordered.length > MOST_COMPARED
            ? `At most ${MOST_COMPARED} runs are compared at once.`
            : ordered.length === 1
              ? 'Tick one more run to compare them.'
              : 'Tick two or more runs to compare them; the earliest is the baseline.'}
        </span>
      )}
      {ordered.length > 0 && (
        <button type="button" onClick={onClear}>
          Clear
        </button>
      )}
    </p>
  );
}

function Misfits({ misfits }: Pick<Listing, 'misfits'>) {
  return (
    <details>
      <summary>{plural(misfits.length, 'directory', 'directories')} without a readable run</summary>
      <ul>
        {misfits.slice(0, 100).map(({ directory, error }) => (
          <li key={directory}>{visible(`${directory}: ${error}`)}</li>
        ))}
      </ul>
    </details>
  );
}
