import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import Color from 'colorjs.io';
import { STAGES } from '../contract/run.ts';
import { quantile, windowOf } from '../page/window.ts';
import { golden } from './goldens.ts';

test('a window has the scheduled rate of its seconds and percentiles to a tenth of a decade', () => {
  const run = golden('passing');
  const figures = windowOf(run, { start: 35, end: 45 });
  const inside = run.timeline.filter(({ t }) => t >= 35 && t < 45);
  assert.equal(figures?.seconds, 10);
  assert.equal(figures?.rate, inside.reduce((sum, { scheduled }) => sum + scheduled, 0) / 10);
  assert.equal(figures?.lost, 0);
  for (const key of ['p50', 'p99'] as const) {
    const [least, most] = [Math.min, Math.max].map((of) => of(...inside.map((s) => s.arrival?.[key] ?? 0)));
    const value = figures?.[key] ?? 0;
    assert.ok(value > 0.8 * (least ?? 0) && value < 1.25 * (most ?? 0), `${key}: ${value}`);
  }
  assert.equal(windowOf(run, { start: 35.6, end: 36.4 }), null);
});

test('too few deliveries have no p99; losses are counted only if all are named', () => {
  assert.equal(quantile([[30, 99]], 0.99), null);
  assert.ok(Math.abs((quantile([[30, 100]], 0.5) ?? 0) - 10 ** 0.05) < 1e-9);
  const run = golden('passing');
  run.account.lost = 1;
  assert.equal(windowOf(run, { start: 0, end: 50 })?.lost, null);
  const message = { id: 'a.1.1', target: 'user/1', flow: 'direct', phase: 'ramp', delivered: 0 };
  const due = new Date(Date.parse(run.run.started) + 12_500).toISOString();
  run.messages = { slowest: [], named: [{ ...message, end: 'lost', due }] };
  assert.equal(windowOf(run, { start: 10, end: 20 })?.lost, 1);
  assert.equal(windowOf(run, { start: 20, end: 30 })?.lost, 0);
});

/** Deuteranopia in linear sRGB (Machado, Oliveira and Fernandes 2009, severity 1). */
const DEUTERANOPE = [
  [0.367322, 0.860646, -0.227968],
  [0.280085, 0.672501, 0.047413],
  [-0.01182, 0.04294, 0.968881],
] as const;
/** CIEDE2000 of two areas that are clearly distinct. Regression: two stages had 5. */
const APART = 14;

test('the stage colours are distinct with and without deuteranopia, light and dark', () => {
  const css = readFileSync(new URL('../page/styles/colours.css', import.meta.url), 'utf8');
  const seen = (hex: string) => {
    const { coords } = new Color(hex).to('srgb-linear');
    const mixed = DEUTERANOPE.map((row) => row.reduce((sum, k, i) => sum + k * (coords[i] ?? 0), 0));
    return new Color(
      'srgb-linear',
      mixed.map((v) => Math.min(1, Math.max(0, v))) as [number, number, number],
    );
  };
  for (const scheme of css.split('@media')) {
    const colours = STAGES.map(
      (stage) => new RegExp(`--${stage}: (#\\w+)`).exec(scheme)?.[1] ?? assert.fail(stage),
    );
    for (const [i, a] of colours.entries())
      for (const b of colours.slice(i + 1))
        for (const eye of [(hex: string) => new Color(hex), seen]) {
          const difference = eye(a).deltaE(eye(b), '2000');
          assert.ok(difference > APART, `${a} ${b}: ${difference}`);
        }
  }
});
