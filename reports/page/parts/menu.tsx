import { useLayoutEffect, useState } from 'preact/hooks';

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

/** The sections that this page has, to go to. */
export function Menu() {
  const [there, setThere] = useState<string[]>([]);
  useLayoutEffect(
    () => setThere(Object.keys(NAMES).filter((id) => document.getElementById(id) !== null)),
    [],
  );
  return (
    <nav class="menu" aria-label="Sections">
      <ul>
        {there.map((id) => (
          <li key={id}>
            <a href={`#${id}`}>{NAMES[id]}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
