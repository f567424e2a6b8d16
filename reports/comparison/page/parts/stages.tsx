import { ms } from '../../../page/format.ts';
import { type Column, Table } from '../../../page/table.tsx';
import { STAGES, type Stage } from '../../../run.ts';
import { change, range } from '../../words.ts';
import type { PartProps } from '../page.tsx';

/** Of the longest bar: a band that holds its name on a wide screen; a narrow one cuts it off. */
const NAMED = 0.07;

/** The stages side by side: where the difference comes from. */
export function StagesSection({ comparison: { subjects, rows } }: PartProps) {
  const known = STAGES.filter((stage) => subjects.some(({ stages }) => stages[stage] !== null));
  if (known.length === 0) return null;
  const scale = Math.max(...subjects.map(({ stages }) => total(stages)));
  const differenceOf = (stage: Stage, i: number) =>
    rows.find(({ name }) => name === `${stage}.mean`)?.differences[i] ?? null;
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
    ...subjects.flatMap(({ letter, stages, obstacle }, i): Column<Stage>[] => [
      { head: letter, unit: 'mean, ms', cell: (stage) => ms(stages[stage]) },
      ...(i === 0 || obstacle !== null
        ? []
        : [
            {
              head: `${letter} against A`,
              unit: '99 % interval',
              cell: (stage: Stage) => {
                const difference = differenceOf(stage, i);
                return (
                  <>
                    {change(difference?.relative)}
                    {difference?.interval && <small>{range(difference)}</small>}
                  </>
                );
              },
            },
            { head: 'finding', text: true, cell: (stage: Stage) => differenceOf(stage, i)?.word ?? '–' },
          ]),
    ]),
  ];
  return (
    <section>
      <h2>Stages</h2>
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
                  {(stages[stage] ?? 0) / scale >= NAMED && stage}
                </i>
              ))}
            </span>
          </p>
        ))}
      </div>
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
    </section>
  );
}

function total(stages: Record<Stage, number | null>): number {
  return STAGES.reduce((sum, stage) => sum + (stages[stage] ?? 0), 0);
}
