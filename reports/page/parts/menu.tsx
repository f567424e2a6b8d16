import { useLayoutEffect, useState } from 'preact/hooks';
import type { Span } from '../facts.ts';
import { clock, figure, msUnit, plural } from '../format.ts';
import { showTime } from '../keys.ts';
import type { PartProps } from '../part.ts';
import { onZoom, windowOf } from '../window.ts';

const NAMES: Record<string, string> = {
  summary: 'Summary',
  account: 'Account',
  findings: 'Findings',
  sweep: 'Sweep',
  latency: 'Latency',
  stages: 'Stages',
  time: 'Time',
  phases: 'Phases',
  flows: 'Flows',
  messages: 'Messages',
  instrument: 'Instrument',
  resources: 'Resources',
  details: 'Details',
};

/** The sections that this page has, to go to, and what the charts over time are zoomed to. */
export function Menu({ run, sound }: PartProps) {
  const [there, setThere] = useState<string[]>([]);
  const [shown, setShown] = useState<Span | null>(null);
  useLayoutEffect(() => {
    setThere(Object.keys(NAMES).filter((id) => document.getElementById(id) !== null));
    return onZoom(setShown);
  }, []);
  return (
    <nav class="menu" aria-label="Sections">
      <ul>
        {there.map((id) => (
          <li key={id}>
            <a href={`#${id}`}>{NAMES[id]}</a>
          </li>
        ))}
      </ul>
      <p class="window" role="status" hidden={shown === null}>
        {shown && <span>{figures({ run, sound }, shown)}</span>}{' '}
        <button type="button" onClick={() => showTime(0, Number.MAX_SAFE_INTEGER)}>
          Show the whole run
        </button>
      </p>
    </nav>
  );
}

/** The figures of the seconds that are shown. */
function figures({ run, sound }: PartProps, shown: Span): string {
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
