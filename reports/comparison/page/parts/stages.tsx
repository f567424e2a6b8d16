import { STAGES, type Stage } from '../../../contract/run.ts';
import { ms, msUnit, percent } from '../../../page/format.ts';
import { type Column, Table } from '../../../page/table.tsx';
import type { Subject } from '../../comparison.ts';
import { change, range } from '../../words.ts';
import { columnsOf } from '../columns.tsx';
import type { PartProps } from '../part.ts';

/** The stages side by side: where the difference comes from. */
export function StagesSection({ comparison: { subjects, rows } }: PartProps) {
  const known = STAGES.filter((stage) => subjects.some(({ stages }) => stages[stage] !== null));
  if (known.length === 0) return null;
  const scale = Math.max(...subjects.map(({ stages }) => total(stages)));
  const columns: Column<Stage>[] = [
    {
      head: 'stage',
      text: true,
      cell: (stage) => (
        <>
          <i class="swatch" style={{ background: `var(--${stage})` }} /> {stage}
        </>
      ),
    },
    ...columnsOf(subjects, {
      unit: 'mean, ms',
      value: (stage: Stage, i) => ms(subjects[i]?.stages[stage]),
      difference: (stage, i) => rows.find(({ name }) => name === `${stage}.mean`)?.differences[i] ?? null,
      change: (difference) => (
        <>
          {change(difference?.relative)}
          {difference?.interval && <small>{range(difference)}</small>}
        </>
      ),
    }),
  ];
  return (
    <section>
      <h2>Stages</h2>
      <h3>{title(subjects)}</h3>
      <div class="bars" aria-hidden="true">
        {subjects.map(({ letter, stages }) => (
          <p key={letter}>
            <strong>{letter}</strong>
            <span class="stack">
              {known.map((stage) => (
                <i
                  key={stage}
                  style={{ width: `${((stages[stage] ?? 0) / scale) * 100}%`, background: `var(--${stage})` }}
                >
                  <span>{stage}</span>
                </i>
              ))}
            </span>
          </p>
        ))}
      </div>
      <div class="means">
        <Table
          caption="Means, which add up to the mean arrival latency of each run"
          columns={columns}
          rows={known}
          foot={[
            'sum of the means',
            ...subjects.flatMap(({ stages, obstacle }, i) => [
              ms(total(stages)),
              ...(i === 0 || obstacle !== null ? [] : ['', '']),
            ]),
          ]}
        />
      </div>
    </section>
  );
}

function title(subjects: Subject[]): string {
  const means = subjects.map(({ letter, stages }) => {
    const whole = total(stages);
    if (whole === 0) return `${letter} not known`;
    const largest = STAGES.reduce((a, b) => ((stages[b] ?? 0) > (stages[a] ?? 0) ? b : a));
    return `${letter} ${msUnit(whole)}, ${percent((stages[largest] ?? 0) / whole)} of it ${largest}`;
  });
  return `Mean arrival and its largest stage: ${means.join('; ')}`;
}

function total(stages: Record<Stage, number | null>): number {
  return STAGES.reduce((sum, stage) => sum + (stages[stage] ?? 0), 0);
}
