import assert from 'node:assert/strict';
import { test } from 'node:test';
import type uPlot from 'uplot';
import type { ChartData } from '../page/chart-data.ts';
import { withoutRest } from '../page/chart-ranges.ts';

test('y is about what comes before the rest, though the seconds of a day are more than a call takes arguments', () => {
  const x = Array.from({ length: 86_400 }, (_, t) => t + 0.5);
  const rows = [x, x.map(() => 2), x.map(() => 5), x.map((t) => (t > 86_399 ? 900 : 3))];
  const series = rows.map((_, i) => ({ show: true, scale: i === 0 ? 'x' : 'y', idxs: [0, x.length - 1] }));
  const shown = { series, data: rows } as unknown as uPlot;
  const range = withoutRest({ rest: 86_399 } as ChartData, (_u, min, max) => [min, max]);
  assert.deepEqual(range(shown, 2, 900, 'y'), [2, 5]);
});
