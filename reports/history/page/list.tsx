import { useEffect, useMemo, useState } from 'preact/hooks';
import { instant, plural, visible } from '../../format.ts';
import type { Listed, Listing } from '../entry.ts';
import { STATES } from '../text.ts';
import { ALL, compareOf, type Filter, filterOf, listOf, queryOf } from './links.ts';
import { Runs, shortName } from './runs.tsx';
import { Trend } from './trend.tsx';

const PAGE = 50;
const REFRESH_MS = 5000;
/** Most runs that the server compares at once. */
const MOST_COMPARED = 12;

/** A run to be compared. */
type Ticked = Pick<Listed, 'directory' | 'name' | 'started'>;

/** The runs; two that are ticked can be compared. What was chosen is there again when a reader comes back. */
export function List() {
  const [filter, setFilter] = useState(() => filterOf(location.search));
  const [limit, setLimit] = useState(PAGE);
  const { listing, error } = useListing(filter, limit);
  const [ticked, setTicked] = useState<Ticked[]>(() => history.state ?? []);
  useEffect(() => {
    history.replaceState(ticked, '', `?${queryOf(filter)}`);
  }, [ticked, filter]);
  // It is drawn again only for another list: drawing it removes its cursor.
  const trend = useMemo(() => listing && <Trend trend={listing.trend} />, [JSON.stringify(listing?.trend)]);
  const tick = (run: Listed) =>
    setTicked((all) => {
      const others = all.filter(({ directory }) => directory !== run.directory);
      const { directory, started } = run;
      return others.length < all.length ? others : [...all, { directory, name: shortName(run), started }];
    });
  return (
    <>
      <header>
        <p class="kind">Arrival</p>
        <h1>Runs</h1>
        <Search filter={filter} listing={listing} onChange={setFilter} />
      </header>
      {error !== null && (
        <p class="worry" role="alert">
          {visible(error)}
        </p>
      )}
      {trend}
      {listing !== null && (
        <section>
          <h2>{found(listing)}</h2>
          {listing.runs.length > 0 && (
            <Runs
              runs={listing.runs}
              ticked={ticked.map(({ directory }) => directory)}
              onTick={tick}
              filter={filter}
              onSort={(sort, ascending) => setFilter({ ...filter, sort, ascending })}
            />
          )}
          {listing.runs.length < listing.matching && (
            <button type="button" onClick={() => setLimit(limit + PAGE)}>
              Show {Math.min(PAGE, listing.matching - listing.runs.length)} more
            </button>
          )}
          {listing.misfits.length > 0 && <Misfits misfits={listing.misfits} />}
        </section>
      )}
      <Compare ticked={ticked} onClear={() => setTicked([])} />
    </>
  );
}

function found({ matching, total }: Listing): string {
  if (total === 0) return 'No runs yet: npm run ramp makes one';
  return matching === total ? plural(total, 'run') : `${matching} of ${plural(total, 'run')}`;
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
  }, [filter, limit]);
  return state;
}

interface SearchProps {
  filter: Filter;
  listing: Listing | null;
  onChange: (filter: Filter) => void;
}

function Search({ filter, listing, onChange }: SearchProps) {
  const choices = [
    ['script', 'Script', listing?.scripts ?? []],
    ['state', 'Verdict', STATES],
    ['label', 'Label', listing?.labels ?? []],
  ] as const;
  return (
    <search class="filter">
      <label>
        Find{' '}
        <input
          type="search"
          maxLength={500}
          value={filter.text}
          placeholder="name, setting, label, commit"
          onInput={(event) => onChange({ ...filter, text: event.currentTarget.value })}
        />
      </label>
      {choices
        .filter(([, , options]) => options.length > 0)
        .map(([key, name, options]) => (
          <label key={key}>
            {name}{' '}
            <select
              value={filter[key]}
              onChange={(event) => onChange({ ...filter, [key]: event.currentTarget.value })}
            >
              <option value="">all</option>
              {options.map((one) => (
                <option key={one} value={one}>
                  {visible(one.length > 60 ? `${one.slice(0, 59)}…` : one)}
                </option>
              ))}
            </select>
          </label>
        ))}
      {queryOf(filter) !== '' && (
        <button type="button" onClick={() => onChange(ALL)}>
          Show all
        </button>
      )}
    </search>
  );
}

/** Stays in sight as long as a run is ticked. The earliest of them is the baseline, unless the reader chooses another one. */
function Compare({ ticked, onClear }: { ticked: Ticked[]; onClear: () => void }) {
  const [chosen, setChosen] = useState('');
  const ordered = ticked.toSorted((a, b) => (a.started < b.started ? -1 : 1));
  const baseline = ordered.find(({ directory }) => directory === chosen) ?? ordered[0];
  if (baseline === undefined) return null;
  const directories = [baseline, ...ordered.filter((one) => one !== baseline)].map(
    ({ directory }) => directory,
  );
  const many = directories.length > MOST_COMPARED;
  return (
    <section class="compare" aria-label="Compare">
      <label>
        Baseline{' '}
        <select value={baseline.directory} onChange={(event) => setChosen(event.currentTarget.value)}>
          {ordered.map(({ directory, name, started }) => (
            <option key={directory} value={directory}>
              {visible(`${name.slice(0, 40)} · ${instant(started)}`)}
            </option>
          ))}
        </select>
      </label>
      {directories.length >= 2 && !many ? (
        <a class="button" href={compareOf(directories)}>
          Compare {directories.length} runs
        </a>
      ) : (
        <span class="small">
          {many
            ? `At most ${MOST_COMPARED} runs are compared at once.`
            : 'Tick one more run to compare them.'}
        </span>
      )}
      <button type="button" onClick={onClear}>
        Clear
      </button>
    </section>
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
