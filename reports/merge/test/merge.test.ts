import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { parseHistograms } from '../../comparison/seconds.ts';
import { FORM, latencyOf } from '../../latency.ts';
import type { Latency, Run } from '../../run.ts';
import { golden } from '../../test/goldens.ts';
import { validateRun } from '../../validate.ts';
import { mergeLatency } from '../latencies.ts';
import { mergeRuns } from '../merge.ts';
import { type Part, partOf } from '../parts.ts';
import { mergedText } from '../text.ts';

const SEQUENCE = '0,1/3,2/3,1';
const SEGMENTS = ['0:1/3', '1/3:2/3', '2/3:1'];

/** The record of one of three instances: a real run, as if it were a third of one. */
function part(number: number, change: (run: Run) => void = () => {}, log = ''): Part {
  const run = golden('real');
  run.run.generator = {
    number,
    of: 3,
    segment: SEGMENTS[number - 1] as string,
    sequence: SEQUENCE,
    start_us: 1_795_317_447_755_881,
    late_ms: 0,
  };
  for (const phase of run.run.profile.phases) phase.arrival_rate = 3 * (phase.arrival_rate ?? 0);
  run.verdict = { result: 'pass', reasons: [] };
  change(run);
  return partOf(run, log, `generator-${number}`);
}

const merged = (...parts: Part[]) => mergeRuns(parts, 'whole').run;

function seriesOf(values: readonly number[]): Latency {
  const histogram = build(FORM);
  for (const value of values) histogram.recordValue(value);
  const sum = values.reduce((a, b) => a + b, 0);
  return latencyOf({
    histogram,
    count: values.length,
    sum,
    min: Math.min(...values),
    max: Math.max(...values),
  });
}

const answerOf = ({ verdict }: Run) => [verdict.result, verdict.reasons];

test('three parts make a whole that is valid and balances', () => {
  const one = golden('real');
  const run = merged(part(3), part(1), part(2));
  assert.deepEqual(validateRun(run), []);
  assert.deepEqual(answerOf(run), ['pass', []]);
  assert.equal(run.run.generator, null);
  assert.equal(run.account.scheduled, 3 * one.account.scheduled);
  assert.equal(run.account.deliveries.arrived, 3 * one.account.deliveries.arrived);
  assert.equal(run.timeline.length, one.timeline.length);
  assert.equal(run.timeline[1]?.sent, 3 * (one.timeline[1]?.sent ?? 0));
  assert.equal(run.steps[0]?.scheduled_per_s, 3 * (one.steps[0]?.scheduled_per_s ?? 0));
  assert.deepEqual(
    run.generators?.map(({ number, result }) => [number, result]),
    [
      [1, 'pass'],
      [2, 'pass'],
      [3, 'pass'],
    ],
  );
});

test('how late a part sent is its lateness, also of what did not arrive', () => {
  const late = part(1, ({ health, latency }) => {
    health.lateness = { ...latency.stages.schedule, p99: 77 };
  });
  const [first, second] =
    merged(
      late,
      part(2, ({ health }) => delete health.lateness),
      part(3),
    ).generators ?? [];
  assert.equal(first?.schedule_p99_ms, 77);
  assert.equal(second?.schedule_p99_ms, golden('real').latency.stages.schedule.p99);
});

test('an account that does not balance is told without an equals sign', () => {
  const run = merged(part(1), part(2), part(3));
  assert.match(mergedText(run), / scheduled = 0 dropped/);
  run.account.balanced = false;
  assert.match(mergedText(run), / scheduled ≠ 0 dropped/);
});

test('what a script tells has a value of each generator', () => {
  const told = (n: number) => (run: Run) => {
    run.figures = [
      { name: 'connections held', value: 14_000 + n, unit: '' },
      { name: 'canary p99', value: n === 2 ? null : n + 0.5, unit: 'ms' },
    ];
  };
  const run = merged(part(3, told(3)), part(1, told(1)), part(2, told(2)));
  assert.deepEqual(validateRun(run), []);
  const text = mergedText(run);
  assert.match(text, /^ {2}figure {6}connections held: 14,001 · 14,002 · 14,003$/m);
  assert.match(text, /^ {2}figure {6}canary p99: 1\.50 · not available · 3\.50 ms$/m);
});

test('a terminal gets nothing to obey', () => {
  const run = merged(part(3), part(1), part(2));
  run.run.name = 'red\u001b[31m';
  run.verdict.reasons = ['it said\n  PASS'];
  run.figures = [{ name: 'turned\u202e', value: 1, unit: '' }];
  const text = mergedText(run);
  assert.match(text, /red\\u001b\[31m\n {14}it said\\n {2}PASS\n/);
  assert.match(text, /turned\\u202e: 1$/m);
});

test('histograms are added count by count', () => {
  const [few, many] = [[1000, 2000, 2000, 70_000], Array.from({ length: 500 }, (_, i) => 100 + 13 * i)];
  const both = mergeLatency([seriesOf(few), seriesOf(many), seriesOf([])]);
  const all = seriesOf([...few, ...many]);
  const { histogram, mean, ...rest } = both;
  const { histogram: wanted, mean: exact, ...figures } = all;
  assert.deepEqual(rest, figures);
  assert.ok(Math.abs((mean as number) - (exact as number)) < 1e-9);
  const [got, told] = [histogram, wanted].map((text) => decodeFromCompressedBase64(text as string));
  assert.equal(encodeIntoCompressedBase64(got as never), encodeIntoCompressedBase64(told as never));
});

test('a second is that of all samples of the second, not of their percentiles', () => {
  const log = (values: number[]) => {
    const { histogram } = seriesOf(values);
    return `#[BaseTime: 100.000 (seconds since epoch)]\nTag=arrival,1.000,1.000,1.000,${histogram}\nTag=arrival,2.0`;
  };
  const [fast, slow] = [Array.from({ length: 99 }, () => 1000), [90_000]];
  const second = (values: number[]) => (run: Run) => {
    const { count, mean, max } = seriesOf(values);
    for (const row of run.timeline) {
      row.arrival = row.t === 1 ? { count, mean, p50: null, p95: null, p99: null, max } : null;
    }
  };
  const { run, log: all } = mergeRuns(
    [part(1, second(fast), log(fast)), part(2, second(slow), log(slow)), part(3, second([]))],
    'whole',
  );
  assert.deepEqual(run.timeline[1]?.arrival, { count: 100, mean: 1.89, p50: 1, p95: 1, p99: 1, max: 90 });
  assert.deepEqual([...(parseHistograms(all).get('arrival')?.get(1)?.counts ?? [])], [99, 1]);
});

test('what is missing or cut off makes the whole incomplete, by its name', () => {
  const run = merged(
    part(1, ({ verdict }) => {
      verdict.result = 'invalid';
      verdict.reasons = ['the generator was late'];
    }),
    part(3, (cut) => {
      cut.run.ended = null;
      cut.verdict = { result: 'incomplete', reasons: ['the run was cut off before everything was in'] };
    }),
  );
  assert.deepEqual(answerOf(run), [
    'incomplete',
    [
      'generator 2 of 3 (1/3:2/3) is missing, and what it sent is not in the account',
      `generator 3 of 3 (2/3:1) was cut off: its account ends after ${run.timeline.length} s, with ${run.account.scheduled / 2} messages`,
      'generator 1: the generator was late',
    ],
  ]);
  assert.equal(run.run.ended, null);
  assert.deepEqual(validateRun(run), []);
});

test('parts that do not add up to the profile, or do not balance, are not trusted', () => {
  const short = merged(
    part(1),
    part(2),
    part(3, ({ account }) => {
      account.requests.scheduled -= 1;
    }),
  );
  const unequal = 'the parts have 749 requests together, and the profile has 750';
  assert.deepEqual(answerOf(short), ['invalid', [unequal]]);
  assert.deepEqual(
    short.verdict.rules?.filter(({ ok }) => ok === false).map(({ name, reason }) => [name, reason]),
    [['requests', unequal]],
  );
  const odd = merged(
    part(1),
    part(2),
    part(3, ({ account }) => {
      account.balanced = false;
    }),
  );
  assert.deepEqual(answerOf(odd), ['invalid', ['the account does not balance']]);
});

test('each instance has its rules, and a limit that one of them did not judge is no pass', () => {
  const limit = (ok: boolean | null) => (run: Run) => {
    const rule = {
      name: 'm',
      value: 1,
      op: '<',
      limit: 2,
      unit: '',
      result: 'fail',
      basis: '',
      reason: '',
    } as const;
    run.verdict = { result: 'pass', reasons: [], rules: [{ ...rule, ok }], stands: [] };
  };
  const all = (...ok: (boolean | null)[]) => merged(...ok.map((one, i) => part(i + 1, limit(one)))).verdict;
  const held = all(true, true, true);
  assert.deepEqual([held.result, held.reasons], ['pass', []]);
  assert.deepEqual(
    held.rules?.map(({ generator, ok }) => [generator, ok]),
    [
      [1, true],
      [2, true],
      [3, true],
    ],
  );
  const open = all(true, null, true);
  assert.deepEqual([open.result, open.reasons], ['incomplete', ['generator 2: not judged: m < 2']]);
  const earlier = part(3, (run) => {
    delete run.verdict.rules;
    run.thresholds = [
      { metric: 'arrival_lost', expression: 'count==0', ok: null },
      { metric: 'arrival_p99', expression: 'value<1e3', ok: null },
      { metric: 'arrival_p99', expression: 'value<Infinity', ok: null },
    ];
  });
  const old = merged(part(1, limit(true)), part(2, limit(true)), earlier).verdict;
  assert.deepEqual(old.reasons, [
    'generator 3: not judged: arrival_lost = 0, arrival_p99 < 1,000 ms, arrival_p99: value<Infinity',
  ]);
});

test('a part that did not pass, and says no reason, lets nothing pass', () => {
  for (const result of ['fail', 'invalid', 'incomplete'] as const) {
    const bad = part(2, ({ verdict }) => Object.assign(verdict, { result }));
    assert.deepEqual(answerOf(merged(part(1), bad, part(3))), [result, [`generator 2: ${result}`]]);
  }
});

test('the clock: the widest bounds of all, offsets and drifts of each', () => {
  const clock =
    (bound: number, own: number, one_host: boolean, processes: number) =>
    ({ clock }: Run) => {
      assert.ok(clock);
      const process = { process: 'relay-1', offset_ms: 0, bound_ms: bound };
      Object.assign(clock, {
        bound_ms: bound,
        generator_bound_ms: own,
        offset_ms: own,
        one_host,
        probes: 10,
      });
      clock.processes = Array.from({ length: processes }, () => process);
    };
  const run = merged(
    part(1, clock(0.5, 0.25, true, 1)),
    part(2, clock(0.75, 0.5, false, 3)),
    part(3, clock(0.25, 0.75, true, 2)),
  );
  const { processes, ...rest } = run.clock ?? {};
  assert.deepEqual(rest, {
    reference: 'redis TIME',
    offset_ms: null,
    bound_ms: 0.75,
    generator_bound_ms: 0.75,
    one_host: false,
    limit_ms: null,
    drift_ppm: null,
    probes: 30,
  });
  assert.equal(processes?.length, 3);
  assert.deepEqual(
    run.generators?.map(({ clock_offset_ms, clock_bound_ms }) => [clock_offset_ms, clock_bound_ms]),
    [
      [0.25, 0.25],
      [0.5, 0.5],
      [0.75, 0.75],
    ],
  );
});

test('health: waits of all sockets, gaps in the order of time with whose they are', () => {
  const gap = (from_s: number) => ({ subscriber: 1, from_s, to_s: null, reason: 'EOF' });
  const suffering =
    (values: number[] | null, gaps: number[], discarded: number, oneIn: number) =>
    ({ health }: Run) => {
      health.socket_wait = values && seriesOf(values);
      health.lateness = health.socket_wait;
      health.arrival_stamps = { kernel: 10 * oneIn, read: discarded };
      health.gaps = gaps.map(gap);
      Object.assign(health, { samples_discarded: discarded, trend_one_in: oneIn });
    };
  const { health, generators } = merged(
    part(1, suffering([1000, 2000], [5, 1], 2, 1)),
    part(2, suffering([7000], [3], 3, 4)),
    part(3, suffering(null, [], 0, 2)),
  );
  const { socket_wait, lateness, ...rest } = health;
  assert.deepEqual(lateness, socket_wait);
  assert.deepEqual([socket_wait?.count, socket_wait?.max], [3, 7]);
  assert.ok(Math.abs((socket_wait?.mean ?? 0) - 10 / 3) < 1e-9);
  assert.deepEqual(rest, {
    arrival_stamps: { kernel: 70, read: 5 },
    gaps: [
      { ...gap(1), reason: 'generator 1: EOF' },
      { ...gap(3), reason: 'generator 2: EOF' },
      { ...gap(5), reason: 'generator 1: EOF' },
    ],
    samples_discarded: 5,
    trend_one_in: 4,
  });
  assert.deepEqual(
    generators?.map(({ socket_wait_p99_ms }) => socket_wait_p99_ms),
    [2, 7, null],
  );
});

test('hosts that differ: what all are is told of the run, cores and kernel of each generator', () => {
  const host =
    (cores: number, kernel: string, shared_host: boolean) =>
    ({ environment }: Run) => {
      Object.assign(environment, { cores, kernel, shared_host });
    };
  const run = merged(
    part(1, host(2, '6.1', false)),
    part(2, host(8, '6.1', true)),
    part(3, host(8, '6.8', false)),
  );
  const { environment } = golden('real');
  assert.deepEqual(run.environment, { ...environment, cores: null, kernel: null, shared_host: true });
  assert.deepEqual(
    run.generators?.map(({ cores, kernel }) => [cores, kernel]),
    [
      [2, '6.1'],
      [8, '6.1'],
      [8, '6.8'],
    ],
  );
  assert.deepEqual(validateRun(run), []);
});

for (const [what, parts, message] of [
  ['the same part twice', [part(1), part(1)], /^generator 1 is there twice$/],
  [
    'a part of another run',
    [
      part(1),
      part(2, (other) => {
        other.run.id = 'other';
      }),
    ],
    /^generator 2 has another run than generator 1 \(other, not 92xakgfx\)$/,
  ],
  [
    'another load',
    [
      part(1),
      part(2, (other) => {
        other.run.profile.name = 'other';
      }),
    ],
    /^generator 2 has another profile than generator 1$/,
  ],
  [
    'another start, as of one that came back,',
    [
      part(1),
      part(2, ({ run: { generator } }) => {
        Object.assign(generator as object, { start_us: 1_795_317_507_755_881 });
      }),
    ],
    /^generator 2 has another start than generator 1 \(1795317507755881, not 1795317447755881\)$/,
  ],
] as const) {
  test(`${what} is refused`, () => assert.throws(() => merged(...parts), { message }));
}

test('a run of one instance is no part', () => {
  assert.throws(() => partOf(golden('real'), '', 'some/run'), {
    message:
      'some/run is a run of one instance; merge takes what each instance of a run by segments has left',
  });
});
