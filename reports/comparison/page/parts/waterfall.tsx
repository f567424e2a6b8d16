import { ms } from '../../../format.ts';
import { colourOf } from '../../../page/facts.ts';
import type { Subject } from '../../comparison.ts';
import { type Waterfall, waterfallOf, waterfallText } from '../../waterfall.ts';
import { marks, signed } from '../../words.ts';

interface Bar {
  name: string;
  /** ms */
  from: number;
  to: number;
  text: string;
  colour: string;
}

/** How the mean of one subject becomes that of another one, stage by stage; nothing where they are not comparable. */
export function WaterfallFigure({ baseline, subject }: { baseline: Subject; subject: Subject }) {
  const found = waterfallOf(baseline, subject);
  if (found === null) return null;
  const bars = barsOf(found, baseline, subject);
  const scale = Math.max(...bars.flatMap(({ from, to }) => [from, to]));
  const place = (at: number) => (scale > 0 ? (at / scale) * 100 : 0);
  return (
    <figure class="waterfall">
      <figcaption>
        {subject.letter} against {baseline.letter}: {waterfallText(found)}
      </figcaption>
      <div aria-hidden="true">
        {bars.map(({ name, from, to, text, colour }) => (
          <p key={name}>
            <span>{name}</span>
            <span class="track">
              <i
                style={{
                  left: `${place(Math.min(from, to))}%`,
                  width: `${place(Math.abs(to - from))}%`,
                  background: `var(--${colour})`,
                }}
              />
            </span>
            <span class="number">{text}</span>
          </p>
        ))}
      </div>
    </figure>
  );
}

/** The mean of the baseline from 0, each stage from where the one before has ended, and the other mean from 0. */
function barsOf({ sampled, from, to, steps }: Waterfall, baseline: Subject, subject: Subject): Bar[] {
  const names = steps.map(({ stage }) => stage);
  let at = from;
  const between = steps.map(({ stage, change }): Bar => {
    const bar = {
      name: sampled ? marks(stage) : stage,
      from: at,
      to: at + change,
      text: signed(change),
      colour: colourOf(names, stage),
    };
    at += change;
    return bar;
  });
  const mean = ({ letter }: Subject, whole: number): Bar => ({
    name: letter,
    from: 0,
    to: whole,
    text: `${ms(whole)} ms`,
    colour: 'muted',
  });
  return [mean(baseline, from), ...between, mean(subject, to)];
}
