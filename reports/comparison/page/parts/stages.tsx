import { colourOf } from '../../../page/facts.ts';
import { ms, msUnit, percent } from '../../../page/format.ts';
import { Table } from '../../../page/table.tsx';
import type { Subject } from '../../comparison.ts';
import type { PartProps } from '../part.ts';
import { WaterfallFigure } from './waterfall.tsx';

/** A bar of the stages for each subject, on one scale: where the difference comes from. */
export function StagesSection({ comparison: { subjects } }: PartProps) {
  const names = Object.keys(subjects[0]?.stages ?? {});
  const known = names.filter((stage) => subjects.some(({ stages }) => stages[stage] != null));
  if (known.length === 0) return null;
  const stamped = subjects.filter(({ stages }) => known.some((stage) => stages[stage] != null));
  const shared = known.filter((stage) => stamped.every(({ stages }) => stages[stage] != null));
  const own = stamped.flatMap(({ letter, stages }) => {
    const those = known.filter((stage) => stages[stage] != null && !shared.includes(stage));
    return those.length === 0 ? [] : [`only ${letter} or some have ${those.join(', ')}`];
  });
  const scale = Math.max(...subjects.map(({ stages }) => total(stages)));
  const [baseline, ...others] = subjects as [Subject, ...Subject[]];
  return (
    <section class="few">
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
                  style={{
                    width: `${((stages[stage] ?? 0) / scale) * 100}%`,
                    background: `var(--${colourOf(names, stage)})`,
                  }}
                >
                  <span>{stage}</span>
                </i>
              ))}
            </span>
          </p>
        ))}
      </div>
      <Table
        caption={
          subjects.some(({ runs }) => runs.length > 1)
            ? 'Means, of repeats their geometric mean, ms'
            : 'Means, which add up to the mean arrival latency, ms'
        }
        columns={[
          {
            head: 'stage',
            text: true,
            cell: (stage) => (
              <>
                <i class="swatch" style={{ background: `var(--${colourOf(names, stage)})` }} /> {stage}
              </>
            ),
          },
          ...subjects.map(({ letter, stages }) => ({
            head: letter,
            cell: (stage: string) => ms(stages[stage]),
          })),
        ]}
        rows={known}
        foot={['sum of the means', ...subjects.map(({ stages }) => ms(total(stages)))]}
      />
      {others.map((subject) => (
        <WaterfallFigure key={subject.letter} baseline={baseline} subject={subject} />
      ))}
      {own.length > 0 && <p class="small">Not all have the same stages: {own.join('; ')}.</p>}
    </section>
  );
}

function title(subjects: Subject[]): string {
  const means = subjects.map(({ letter, stages }) => {
    const whole = total(stages);
    if (whole === 0) return `${letter} not known`;
    const largest = Object.keys(stages).reduce((a, b) => ((stages[b] ?? 0) > (stages[a] ?? 0) ? b : a));
    return `${letter} ${msUnit(whole)}, ${percent((stages[largest] ?? 0) / whole)} of it ${largest}`;
  });
  return `Mean arrival and its largest stage: ${means.join('; ')}`;
}

function total(stages: Subject['stages']): number {
  return Object.values(stages).reduce<number>((sum, mean) => sum + (mean ?? 0), 0);
}
