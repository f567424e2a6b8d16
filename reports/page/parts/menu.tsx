import { useLayoutEffect, useState } from 'preact/hooks';
import { clock, figure, msUnit, plural } from '../../format.ts';
import type { TimeRange } from '../facts.ts';
import { showTime } from '../keys.ts';
import type { PartProps } from '../part.ts';
import { chosenZoom, keepZoom, onZoom, windowOf } from '../window.ts';

const NAMES: Record<string, string> = {
  summary: 'Summary',
  findings: 'Findings',
  stages: 'Stages',
  time: 'Over time',
  latency: 'Latency',
  flows: 'Flows and messages',
  trust: 'Trust',
  resources: 'Resources',
  setup: 'Setup',
};

/** The bar that stays: verdict and name, the sections of this page, and what the charts over time are zoomed to. */
export function Menu({ run, sound }: PartProps) {
  const [there, setThere] = useState<string[]>([]);
  const [current, setCurrent] = useState('summary');
  const [shown, setShown] = useState<TimeRange | null>(null);
  useLayoutEffect(() => {
    const ids = Object.keys(NAMES).filter((id) => document.getElementById(id) !== null);
    setThere(ids);
    const ended = [
      watchSections(ids, setCurrent),
      onZoom((span) => {
        setShown(span);
        document.documentElement.toggleAttribute('data-zoomed', span !== null);
        keepZoom(span);
      }),
    ];
    whenDrawn(() => {
      const zoom = chosenZoom(location.hash);
      if (zoom) showTime(zoom.start, zoom.end);
    });
    return () => {
      for (const end of ended) end();
    };
  }, []);
  const { result } = run.verdict;
  return (
    <nav class="menu" aria-label="Sections">
      <div class="menu-line">
        <p class="menu-name" title={run.run.name}>
          <span class={`tag ${result}`}>{result}</span> {run.run.name}
        </p>
        <ul>
          {there.map((id) => (
            <li key={id}>
              <a
                href={`#${id}`}
                aria-current={id === current ? 'true' : undefined}
                onClick={() => document.querySelector(`#${id} > details`)?.setAttribute('open', '')}
              >
                {NAMES[id]}
              </a>
            </li>
          ))}
        </ul>
      </div>
      <p class="window" role="status" hidden={shown === null}>
        {shown && <span>{figures({ run, sound }, shown)}</span>}{' '}
        <button type="button" onClick={() => showTime(0, Number.MAX_SAFE_INTEGER)}>
          Show the whole run
        </button>
      </p>
    </nav>
  );
}

/** Reports the section in the middle of the screen. @returns a function that ends the reports */
function watchSections(ids: string[], tell: (id: string) => void): () => void {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) tell(target.id);
    },
    { rootMargin: '-40% 0px -59% 0px' },
  );
  for (const id of ids) seen.observe(document.getElementById(id) as HTMLElement);
  return () => seen.disconnect();
}

/** Runs a task when all charts are drawn, which is before the load event. */
function whenDrawn(task: () => void): void {
  if (document.readyState === 'complete') setTimeout(task);
  else addEventListener('load', task, { once: true });
}

/** The figures of the seconds that are shown. */
function figures({ run, sound }: PartProps, shown: TimeRange): string {
  const span = `${clock(shown.start)} – ${clock(shown.end)}`;
  const window = windowOf(run, shown);
  if (window === null) return `${span}: less than a second`;
  const { rate, p50, p99, lost } = window;
  const rough = (name: string, value: number | null) =>
    value === null ? `too few deliveries for ${name}` : `${name} ≈ ${msUnit(value)}`;
  return [
    `${span}: ${figure(rate)} messages/s ${run.run.model === 'closed' ? 'sent' : 'scheduled'}`,
    ...(sound ? [`arrival ${rough('p50', p50)}`, rough('p99', p99)] : []),
    lost === null ? 'lost: not known' : `${plural(lost, 'message')} lost`,
  ].join(' · ');
}
