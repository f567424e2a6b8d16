import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../contract/run.ts';
import { answer } from '../page/facts.ts';
import { findings, p99Limit } from '../page/findings.ts';
import { carried } from '../sweep.ts';
import { golden } from './goldens.ts';

function texts(run: Run, sound = true): string[] {
  return findings(run, sound).map(({ text }) => text.replaceAll('\u00a0', ' '));
}

test('the highest rate that was held below the limit of the thresholds', () => {
  const run = golden('passing');
  assert.equal(p99Limit(run), 250);
  const sentence = 'Highest rate held for 5 s with arrival p99 < 250 ms: at least 2,850 messages/s.';
  assert.ok(texts(run).includes(sentence), texts(run).join());
  for (const second of run.timeline) if (second.t >= 20 && second.arrival) second.arrival.p99 = 250;
  const rate = texts(run).find((text) => text.startsWith('Highest rate held'));
  assert.match(rate ?? '', /: 1,1\d\d messages\/s\.$/, 'more was offered, and not held');
  for (const second of run.timeline) if (second.arrival) second.arrival.p99 = 250;
  assert.ok(texts(run).includes(sentence.replace('at least 2,850 messages/s', 'none')));
  run.verdict.rules = [];
  assert.equal(p99Limit(run), null);
  const { rules: _, ...verdict } = run.verdict;
  const held = { metric: 'arrival_p99', expression: 'value<100', ok: true };
  assert.equal(p99Limit({ ...run, verdict, thresholds: [held] }), 100, 'of an earlier version');
  assert.equal(p99Limit({ ...run, figures: [{ name: 'limit of arrival p99', value: 50, unit: 'ms' }] }), 50);
  assert.ok(!texts(run).some((text) => text.startsWith('Highest')));
});

// A pipeline that refuses most of what is asked of it, and is quick with the rest, held all that was offered.
test('no rate is held where messages were refused, lost, or left behind, however fast the others are', () => {
  const held = (run: Run) => texts(run).find((text) => text.startsWith('Highest rate held')) ?? '';
  const refusing = golden('refusing');
  assert.ok((refusing.latency.arrival.p99 ?? 0) < 5, 'ms: the survivors are fast');
  assert.match(held(refusing), /: none\.$/);
  const told = answer(refusing).join(' ');
  assert.match(told, /\(78,751 rejected of 89,300\): the latencies are those of the others\./);

  const losing = golden('passing');
  const { account, steps, timeline } = losing;
  for (const { phase, ...second } of timeline.slice(35))
    Object.assign(timeline[second.t] as object, { backlog: second.backlog + 3 });
  Object.assign(account.deliveries, { arrived: account.deliveries.arrived - 3, missing: 3 });
  Object.assign(steps[2] as object, { arrived: (steps[2]?.arrived ?? 0) - 3 });
  assert.match(
    held(losing),
    /: 2,\d\d\d messages\/s\.$/,
    'seconds after which nothing was owed had lost nothing',
  );
  for (const second of timeline) second.backlog += 3;
  assert.doesNotMatch(
    held(losing),
    /2,850/,
    'where it is not known when messages were lost, none of the phase is held',
  );

  const behind = golden('passing');
  for (const second of behind.timeline) {
    second.arrived = Math.round(second.arrived / 2);
    second.backlog = second.t * second.arrived;
  }
  assert.match(held(behind), /: none\.$/);
});

test('a sweep counts what was accepted and arrived, and calls no step held that refused or lost', () => {
  const told = (change: (run: Run) => void) => {
    const run = golden('closed');
    change(run);
    return texts(run).slice(0, 2);
  };
  const most = (run: Run) => run.steps.at(-1) as Run['steps'][number];
  const [, sound] = told(() => {});
  assert.match(sound ?? '', /: 2,288 messages\/s\.$/);
  for (const [what, change] of [
    ['refused', (step) => ({ accepted: step.accepted / 10, due: step.due / 10, arrived: step.arrived / 10 })],
    ['lost', (step) => ({ arrived: step.arrived - 1 })],
    ['behind', (step) => ({ backlog: step.due / 2 })],
  ] as [string, (step: { accepted: number; due: number; arrived: number }) => object][]) {
    const [, rate] = told((run) => {
      const step = most(run) as Required<Run['steps'][number]>;
      Object.assign(step, change(step));
    });
    assert.match(rate ?? '', /: 2,28[47] messages\/s\.$/, `${what}: the best of the others`);
  }
  const [knee] = told((run) => {
    run.knee = null;
    for (const step of run.steps) {
      step.latency.arrival.p50 = 1;
      if (step.vus === 32) Object.assign(step, { accepted: step.accepted / 10 });
    }
  });
  assert.match(knee ?? '', /^No knee: .*, but with 32 not every message arrived\.$/);

  const run = golden('closed');
  const [, , few] = run.steps as [Run['steps'][number], Run['steps'][number], Run['steps'][number]];
  const all = carried(run, few);
  assert.equal(all, few.accepted / few.duration_s);
  few.backlog = (few.due ?? 0) / 2;
  assert.ok(Math.abs(carried(run, few) - all / 2) < 1e-6, 'what it left behind does not count');
  delete few.due;
  run.account.deliveries.missing = few.arrived;
  few.backlog = 0;
  assert.ok(
    Math.abs(carried(run, few) - all / 2) < 1e-6,
    'of a run that does not say whose it misses, any step’s',
  );
});

test('the knee of a sweep, with the stage that grew', () => {
  const run = golden('closed');
  assert.match(
    texts(run)[0] ?? '',
    /^The knee is at 4 VUs, 2,284 messages\/s: with 16 arrival p50 goes from 4\.74 ms to 14\.7 ms and stays up; request grows most\.$/,
  );
  assert.match(
    texts(run)[1] ?? '',
    /^Highest rate of a step with arrival p99 < 250 ms: 2,288 messages\/s\.$/,
  );
  run.steps = run.steps.filter(({ vus }) => vus !== 16 && vus !== 32);
  run.knee = null;
  assert.equal(texts(run)[0], 'No knee: up to 4 VUs arrival p50 did not take off.');
  for (const step of run.steps) Object.assign(step, { scheduled: 1000, backlog: 310 });
  run.knee = { vus: 0, next: 1, stage: 'request' };
  assert.match(
    texts(run)[0] ?? '',
    /^The knee is below 1 VU: 310 of 1,000 messages were owed at the end of that step; request takes longest\.$/,
  );
  delete run.knee;
  assert.doesNotMatch(texts(run).join(), /knee/i, 'a run of an earlier version does not say');
});

test('a process without a core left, and the stage that gave way', () => {
  const run = golden('passing');
  const broker = run.resources.find(({ process }) => process === 'mosquitto');
  assert.ok(broker);
  for (const row of broker.series) row[1] = row[0] >= 31 ? 99 : 40;
  for (const second of run.timeline) if (second.t >= 31 && second.stages) second.stages.delivery = 30;
  const found = texts(run).find((text) => text.startsWith('mosquitto'));
  assert.match(
    found ?? '',
    /^mosquitto used 95 % of a core or more from 0:31 to 0:5\d: the stage that gave way is delivery, 0\.\d+ ms before and 30\.0 ms then\.$/,
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
  /** What a second of the run was idle, waiting and stolen. */
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
  assert.match(host().join(), /what its hypervisor took included/);
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

test('without a sound account no latency is told; a name may be long', () => {
  const run = golden('unbalanced');
  assert.doesNotMatch(texts(run, false).join(), /p99|p50|worst/);
  const hostile = golden('passing');
  const [resource] = hostile.resources.slice(1);
  assert.ok(resource);
  resource.process = 'x'.repeat(10_000);
  for (const row of resource.series) row[1] = 100;
  assert.ok(texts(hostile).every((text) => text.length < 400));
});

test('nothing is told of a run that has not begun', () => {
  assert.deepEqual(texts(golden('started')), ['Highest rate held for 5 s with arrival p99 < 250 ms: none.']);
});
