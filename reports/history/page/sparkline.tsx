import { ms } from '../../page/format.ts';

const WIDTH = 120;
const HEIGHT = 24;
const EDGE = 2;

/** A line without axes: how p99 went, from the lowest to the highest on a logarithmic scale. */
export function Sparkline({ values }: { values: (number | null)[] }) {
  const known = values.filter((value): value is number => value !== null && value > 0);
  if (known.length < 2) return <span class="small">–</span>;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const span = Math.log(high / low) || 1;
  const x = (i: number) => (i / (values.length - 1)) * (WIDTH - 2 * EDGE) + EDGE;
  const y = (value: number) => HEIGHT - EDGE - (Math.log(value / low) / span) * (HEIGHT - 2 * EDGE);
  const path = values
    .map((value, i) => {
      if (value === null || value <= 0) return '';
      const joined = (values[i - 1] ?? 0) > 0;
      return `${joined ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join('');
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img">
      <title>{`p99 over time: ${ms(low)} to ${ms(high)} ms`}</title>
      <path d={path} />
    </svg>
  );
}
