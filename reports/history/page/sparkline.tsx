import { ms } from '../../format.ts';
import { topOf } from './axis.ts';

const WIDTH = 120;
const HEIGHT = 24;
const EDGE = 2;

/** ms */
interface Scale {
  low: number;
  high: number;
}

/** One scale for all pictures of a list; null: there is nothing to draw. */
export function scaleOf(values: (number | null)[]): Scale | undefined {
  const known = values.filter((value): value is number => value !== null && value > 0);
  if (known.length === 0) return undefined;
  // Math.min(...known) would fail: a list may have more values than a call takes arguments.
  return { low: known.reduce((a, b) => Math.min(a, b)), high: topOf(known) };
}

/** A line without axes: how p99 went, on a logarithmic scale. */
export function Sparkline({ values, scale }: { values: (number | null)[]; scale: Scale | undefined }) {
  const own = scaleOf(values);
  if (scale === undefined || own === undefined || values.length < 2) return <span class="small">–</span>;
  const span = Math.log(scale.high / scale.low) || 1;
  const x = (i: number) => (i / (values.length - 1)) * (WIDTH - 2 * EDGE) + EDGE;
  const y = (value: number) =>
    HEIGHT - EDGE - (Math.log(Math.min(value, scale.high) / scale.low) / span) * (HEIGHT - 2 * EDGE);
  const path = values
    .map((value, i) => {
      if (value === null || value <= 0) return '';
      const joined = (values[i - 1] ?? 0) > 0;
      return `${joined ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join('');
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img">
      <title>{`p99 over time: ${ms(own.low)} to ${ms(own.high)} ms`}</title>
      <path d={path} />
    </svg>
  );
}
