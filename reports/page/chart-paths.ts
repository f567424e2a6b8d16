/** How a line of more values than there is room for is drawn: the mean of what lies on a place, over the span from least to most. */
import uPlot from 'uplot';

/** px that the values of one place share. */
const PLACE = 3;

const linear = uPlot.paths.linear?.() as uPlot.Series.PathBuilder;

/** As a line where each value has room, else as an envelope. @param area the line is filled down to 0 */
export function envelope(area: boolean): uPlot.Series.PathBuilder {
  return (u, series, from, to) => {
    const places = u.bbox.width / devicePixelRatio / PLACE;
    if (to - from < places) {
      const paths = linear(u, series, from, to);
      return paths && !area ? { ...paths, fill: null } : paths;
    }
    const { stroke, fill } = placed(u, series, from, to, Math.ceil((to - from) / places), area);
    return area ? { stroke, fill: downToZero(u, series, stroke) } : { stroke, fill };
  };
}

interface Place {
  x: number;
  low: number;
  mean: number;
  high: number;
}

/** A line through the means, or of an area through the highest, and a band around it; both are broken where a place has no value. */
function placed(u: uPlot, series: number, from: number, to: number, step: number, area: boolean) {
  const [stroke, fill] = [new Path2D(), new Path2D()];
  const scale = u.series[series]?.scale ?? 'y';
  const y = (value: number) => u.valToPos(value, scale, true);
  let run: Place[] = [];
  const end = () => {
    for (const [i, { x, mean, high }] of run.entries())
      stroke[i === 0 ? 'moveTo' : 'lineTo'](x, y(area ? high : mean));
    for (const [i, { x, high }] of run.entries()) fill[i === 0 ? 'moveTo' : 'lineTo'](x, y(high));
    for (const { x, low } of run.toReversed()) fill.lineTo(x, y(low));
    run = [];
  };
  for (let i = from; i <= to; i += step) {
    const values = known(u.data[series] as (number | null | undefined)[], i, Math.min(i + step, to + 1));
    if (values.length === 0) {
      end();
      continue;
    }
    const middle = u.data[0][Math.min(to, i + Math.floor(step / 2))] as number;
    run.push({
      x: u.valToPos(middle, 'x', true),
      low: Math.min(...values),
      mean: values.reduce((sum, value) => sum + value, 0) / values.length,
      high: Math.max(...values),
    });
  }
  end();
  return { stroke, fill };
}

function known(values: (number | null | undefined)[], from: number, end: number): number[] {
  return values.slice(from, end).filter((value): value is number => value != null);
}

/** The area below a line that has no gaps. */
function downToZero(u: uPlot, series: number, stroke: Path2D): Path2D {
  const { left, width } = u.bbox;
  const zero = u.valToPos(0, u.series[series]?.scale ?? 'y', true);
  const area = new Path2D(stroke);
  area.lineTo(left + width, zero);
  area.lineTo(left, zero);
  return area;
}
