import type { Finding, Run } from '../../contract/run.ts';
import { count, glued } from '../../format.ts';
import { showTime } from '../keys.ts';
import type { PartProps } from '../part.ts';
import { Long, Table } from '../table.tsx';

/** Seconds that are shown around what is zoomed to. */
const AROUND = 3;

/** Findings, each with its cause, and errors; nothing where there is neither. */
export function FindingsSection({ run: { findings = [], errors } }: PartProps) {
  if (findings.length + errors.length === 0) return null;
  return (
    <section class="findings" id="findings">
      <h2>Findings</h2>
      {findings.length > 0 && (
        <ul>
          {findings.map(({ text, worry, span }, i) => (
            <li key={i} class={worry ? 'gave-way' : ''}>
              {span === null ? glued(text) : <Zoom text={glued(text)} span={span} />}
            </li>
          ))}
        </ul>
      )}
      {errors.length > 0 && <Errors errors={errors} />}
    </section>
  );
}

function Errors({ errors }: Pick<Run, 'errors'>) {
  return (
    <div class="errors">
      <Table
        caption="Errors by stage and class, whole run"
        columns={[
          { head: 'stage', text: true, cell: (e) => e.stage },
          { head: 'class', text: true, cell: (e) => e.class },
          { head: 'count', cell: (e) => count(e.count) },
          { head: 'first one', text: true, cell: (e) => <Long text={e.example ?? '–'} code /> },
        ]}
        rows={errors}
      />
    </div>
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
