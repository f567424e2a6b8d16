import type { Finding } from '../../contract/run.ts';
import { showTime } from '../keys.ts';
import type { PartProps } from '../part.ts';

/** Seconds that are shown around what is zoomed to. */
const AROUND = 3;

/** What stands out; nothing where nothing does. */
export function FindingsSection({ run: { findings = [] } }: PartProps) {
  if (findings.length === 0) return null;
  return (
    <section class="findings" id="findings">
      <h2>Findings</h2>
      <ul>
        {findings.map(({ text, worry, span }, i) => (
          <li key={i} class={worry ? 'gave-way' : ''}>
            {span === null ? text : <Zoom text={text} span={span} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A finding that shows its seconds in all charts over time. */
function Zoom({ text, span }: { text: string; span: NonNullable<Finding['span']> }) {
  const show = () => {
    showTime(Math.max(0, span.from_s - AROUND), span.to_s + AROUND);
    document.getElementById('time')?.scrollIntoView();
  };
  return (
    <button type="button" onClick={show}>
      {text} <span class="link screen">show</span>
    </button>
  );
}
