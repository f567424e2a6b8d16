import { type Finding, findings } from '../findings.ts';
import { showTime } from '../keys.ts';
import type { PartProps } from '../part.ts';

/** Seconds that are shown around what is zoomed to. */
const AROUND = 3;

/** What stands out; nothing where nothing does. */
export function FindingsSection({ run, sound }: PartProps) {
  const found = findings(run, sound);
  if (found.length === 0) return null;
  return (
    <section class="findings" id="findings">
      <h2>Findings</h2>
      <ul>
        {found.map((finding, i) => (
          <li key={i} class={finding.worry ? 'gave-way' : ''}>
            {finding.text} <Zoom {...finding} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Shows the seconds that a finding is about in all charts over time. */
function Zoom({ span }: Finding) {
  if (span === undefined) return null;
  const show = () => {
    showTime(Math.max(0, span.start - AROUND), span.end + AROUND);
    document.getElementById('time')?.scrollIntoView();
  };
  return (
    <button type="button" class="link screen" onClick={show}>
      show
    </button>
  );
}
