import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../contract/run.ts';
import { findings } from '../page/findings.ts';
import { golden } from './goldens.ts';

function texts(run: Run, sound = true): string[] {
  return findings(run, sound).map(({ text }) => text.replaceAll('\u00a0', ' '));
}

test('a process without a core left, and the stage that gave way', () => {
  const run = golden('passing');
  const broker = run.resources.find(({ process }) => process === 'mosquitto');
  assert.ok(broker);
  for (const row of broker.series) row[1] = row[0] >= 31 ? 99 : 40;
  for (const second of run.timeline) if (second.t >= 31 && second.stages) second.stages.delivery = 30;
  const found = texts(run).find((text) => text.startsWith('mosquitto'));
  assert.match(
    found ?? '',
    /^mosquitto used 95 % of a core or more from 0:31 to 0:5\d: delivery gave way, 0\.\d+ ms before and 30\.0 ms then\.$/,
  );
  for (const second of run.timeline) if (second.stages) second.stages.delivery = 0.4;
  assert.match(texts(run).find((text) => text.startsWith('mosquitto')) ?? '', /; no stage gave way\.$/);
  for (const row of broker.series) row[1] = 99;
  assert.match(
    texts(run).find((text) => text.startsWith('mosquitto')) ?? '',
    /^mosquitto used 95 % of a core or more from 0:00 to [0-9:]+\.$/,
    'with nothing before, nothing is said of a stage',
  );
  for (const row of broker.series) row[1] = row[0] % 2 === 0 ? 99 : 90;
  assert.ok(!texts(run).some((text) => text.startsWith('mosquitto')), 'single seconds are none');
});

test('a host without a core left, though no process had a core of its own full', () => {
  const run = golden('passing');
  const figures = run.resources.find(({ process }) => process === 'host')?.figures;
  assert.ok(figures);
  const host = () => texts(run).filter((text) => text.startsWith('The host was full'));
  /** Idle, waiting and stolen CPU of a second of the run. */
  const set = (of: (t: number) => { id: number; wa?: number; st?: number }) => {
    for (const key of ['id', 'wa', 'st'] as const)
      figures.gauges[key] = figures.t.map((t) => of(t)[key] ?? 0);
  };
  assert.deepEqual(host(), []);
  set((t) => ({ id: t >= 31 && t < 36 ? 5 : 5.1 }));
  assert.match(
    host().join(),
    /^The host was full from 0:31 to 0:36: its cores were busy for 95 % of the time or more/,
  );
  set((t) => ({ id: t >= 31 && t < 33 ? 0 : 50 }));
  assert.deepEqual(host(), [], 'two seconds are too few');
  set(() => ({ id: 1, wa: 60 }));
  assert.deepEqual(host(), [], 'cores that wait for a disk are idle');
  set((t) => ({ id: t >= 31 && t < 36 ? 1 : 50, st: 40 }));
  assert.match(host().join(), /steal included/);
  assert.ok(!texts(run).some((text) => / used 95 % of a core/.test(text)));
  figures.t = figures.t.map((t) => t * 12);
  figures.bin_s = 12;
  set((t) => ({ id: t === 24 ? 0 : 50 }));
  assert.match(host().join(), /from 0:24 to 0:36/, 'one bin of a long run is enough');
  figures.gauges = {};
  assert.deepEqual(host(), [], 'a host that reports none');
});

test('a phase in which more came than got through', () => {
  const run = golden('passing');
  assert.ok(!texts(run).some((text) => text.includes('more came')));
  for (const second of run.timeline) second.backlog = second.t < 30 ? 3 : (second.t - 29) * 500;
  assert.ok(
    texts(run).includes(
      'In “sustained” more came than got through: the backlog grew from 500 to 10,000 deliveries.',
    ),
  );
});

test('the rules of thumb for vmstat', () => {
  const run = golden('passing');
  const gauges = run.resources.find(({ process }) => process === 'host')?.figures?.gauges;
  assert.ok(gauges);
  const set = (key: string, value: number) => {
    gauges[key] = gauges.id?.map(() => value) ?? [];
  };
  const starts = () => texts(run).filter((text) => /In .* of the run|swapped/.test(text));
  set('id', 60);
  assert.deepEqual(starts(), []);
  set('id', 1);
  set('cs', 40_000);
  assert.match(starts().join(), /^In 100 % of the run the host was less than 5 % idle .* no more to give\.$/);
  set('id', 45);
  set('in', 60_000);
  assert.match(starts().join(), /^In 100 % of the run the host was 40 to 50 % idle .* network interface/);
  set('id', 60);
  set('so', 4);
  assert.match(starts().join(), /^The host swapped: it needs more memory/);
});

test('the worst second, where it stands out', () => {
  const run = golden('passing');
  const worst = run.timeline[35];
  assert.ok(worst?.arrival && worst.stages);
  worst.arrival.p99 = 312;
  worst.stages.queue = 100;
  assert.match(
    texts(run).join(),
    /The worst second is 0:35, with arrival p99 312 ms; queue held 9\d % of its mean\./,
  );
});

test('without a balanced account no latency is shown; a name may be long', () => {
  const run = golden('unbalanced');
  assert.doesNotMatch(texts(run, false).join(), /p99|p50|worst/);
  const hostile = golden('passing');
  const [resource] = hostile.resources.slice(1);
  assert.ok(resource);
  resource.process = 'x'.repeat(10_000);
  for (const row of resource.series) row[1] = 100;
  assert.ok(texts(hostile).every((text) => text.length < 400));
});

test('a run that has not begun has no findings', () => {
  assert.deepEqual(texts(golden('started')), []);
});
