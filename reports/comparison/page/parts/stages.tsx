import { ms, msUnit, percent } from '../../../format.ts';
import { colourOf } from '../../../page/facts.ts';
import { Table } from '../../../page/table.tsx';
import type { Subject } from '../../comparison.ts';
import { type Budget, budgetOf } from '../../waterfall.ts';
import { marks } from '../../words.ts';
import type { PartProps } from '../part.ts';
import { WaterfallFigure } from './waterfall.tsx';

/** A bar of the stages for each subject, on one scale: where the difference comes from. */
export function StagesSection({ comparison: { subjects } }: PartProps) {
  const { sampled, names, of } = budgetOf(subjects);
  const known = names.filter((stage) => subjects.some((subject) => of(subject)[stage] != null));
  if (known.length === 0) return null;
  const shown = (stage: string) => (sampled ? marks(stage) : stage);
  const divided = subjects.filter((subject) => known.some((stage) => of(subject)[stage] != null));
  const shared = known.filter((stage) => divided.every((subject) => of(subject)[stage] != null));
  const own = divided.flatMap((subject) => {
    const those = known.filter((stage) => of(subject)[stage] != null && !shared.includes(stage));
    return those.length === 0 ? [] : [`only ${subject.letter} or some have ${those.map(shown).join(', ')}`];
  });
  const scale = Math.max(...subjects.map((subject) => total(of(subject))));
  const [baseline, ...others] = subjects as [Subject, ...Subject[]];
  return (
    <section class="few">
      <h2>Stages</h2>
      <h3>{title(subjects, of, shown)}</h3>
      <div class="bars" aria-hidden="true">
        {subjects.map((subject) => (
          <p key={subject.letter}>
            <strong>{subject.letter}</strong>
            <span class="stack">
              {known.map((stage) => (
                <i
                  key={stage}
                  style={{
                    width: `${((of(subject)[stage] ?? 0) / scale) * 100}%`,
                    background: `var(--${colourOf(names, stage)})`,
                  }}
                >
                  <span>{shown(stage)}</span>
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
            : `Means, which add up to the mean arrival latency${sampled ? ' of sampled messages, by spans' : ''}, ms`
        }
        columns={[
          {
            head: 'stage',
            text: true,
            cell: (stage) => (
              <>
                <i class="swatch" style={{ background: `var(--${colourOf(names, stage)})` }} /> {shown(stage)}
              </>
            ),
          },
          ...subjects.map((subject) => ({
            head: subject.letter,
            cell: (stage: string) => ms(of(subject)[stage]),
          })),
        ]}
        rows={known}
        foot={['sum of the means', ...subjects.map((subject) => ms(total(of(subject))))]}
      />
      {others.map((subject) => (
        <WaterfallFigure key={subject.letter} baseline={baseline} subject={subject} />
      ))}
      {own.length > 0 && <p class="small">Not all have the same stages: {own.join('; ')}.</p>}
    </section>
  );
}

function title(subjects: Subject[], of: Budget['of'], shown: (stage: string) => string): string {
  const means = subjects.map((subject) => {
    const { letter } = subject;
    const stages = of(subject);
    const whole = total(stages);
    if (whole === 0) return `${letter} not known`;
    const largest = Object.keys(stages).reduce((a, b) => ((stages[b] ?? 0) > (stages[a] ?? 0) ? b : a));
    return `${letter} ${msUnit(whole)}, ${percent((stages[largest] ?? 0) / whole)} of it ${shown(largest)}`;
  });
  return `Mean arrival and its largest stage: ${means.join('; ')}`;
}

function total(stages: Record<string, number | null>): number {
  return Object.values(stages).reduce<number>((sum, mean) => sum + (mean ?? 0), 0);
}
