import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Interval, latencyOf, type Rule, type Run, stagesOf } from '../contract/run.ts';
import { crossing, gapSpans, uncertain } from '../page/facts.ts';
import { type Check, canaryPace, canarySentence, checks } from '../page/health.ts';
import { measuredText, ruleOf } from '../rules.ts';
import { golden } from './goldens.ts';

function check(run: Run, what: string): Check {
  const found = checks(run, true).find((row) => row.what === what);
  assert.ok(found, `there is a row ${what}`);
  return {
    ...found,
    figure: plain(found.figure),
    more: plain(found.more),
    limit: found.limit && plain(found.limit),
  };
}

function plain(text: string | undefined): string {
  return (text ?? '').replaceAll('\u00a0', ' ');
}

const names = (run: Run, sound = true) => checks(run, sound).map(({ what }) => what);

test('a passing run holds every limit', () => {
  const run = golden('passing');
  assert.deepEqual(names(run), [
    ...[
      'lateness',
      'CPU',
      'dropped',
      'socket wait',
      'canary',
      'gaps',
      'discarded',
      'negative',
      'clock bound',
    ],
  ]);
  const judged = checks(run, true).filter(({ limit }) => limit !== null);
  assert.deepEqual(
    judged.filter(({ ok }) => ok !== true),
    [],
  );
  assert.equal(judged.length, 7, 'the canary and the clock of a single host have no limit');
});

/** Overwrites fields of a rule. */
function change(run: Run, name: string, how: Partial<Rule>): void {
  const rule = ruleOf(run, name);
  assert.ok(rule, name);
  Object.assign(rule, how);
}

test('limit, basis and outcome of a figure are those of run.json', () => {
  const run = golden('passing');
  for (const [what, name] of [
    ['lateness', 'lateness'],
    ['socket wait', 'socket_wait'],
  ] as const) {
    assert.deepEqual([check(run, what).limit, check(run, what).ok], ['2.00 ms', true]);
    change(run, name, { limit: 5, ok: false, basis: 'so it is' });
    const { limit, rule, ok } = check(run, what);
    assert.deepEqual([limit, rule, ok], ['5.00 ms', 'so it is', false]);
  }
  change(run, 'negative', { limit: 1265.7 });
  assert.equal(check(run, 'negative').limit, '1,265 deliveries');
  assert.equal(check(run, 'dropped').limit, 'none');
  assert.ok(run.health.lateness);
  Object.assign(run.health.lateness, { p99: 5 });
  run.latency.arrival.p99 = 100;
  assert.match(check(run, 'lateness').more ?? '', /^5 % of arrival p99; p50 /);
});

test('a figure without a rule has no limit', () => {
  const run = golden('passing');
  run.verdict.rules = [];
  run.health.socket_wait = null;
  assert.deepEqual([check(run, 'socket wait').figure, check(run, 'socket wait').ok], ['not available', null]);
  assert.ok(checks(run, true).every(({ limit, ok }) => limit === null && ok === null));
});

test('of several generators, the one that broke the rule is shown', () => {
  const run = golden('passing');
  const rule = ruleOf(run, 'lateness');
  assert.ok(rule);
  run.verdict.rules = [
    { ...rule, generator: 1 },
    { ...rule, generator: 2, limit: 3, ok: false },
  ];
  assert.deepEqual([check(run, 'lateness').limit, check(run, 'lateness').ok], ['3.00 ms', false]);
});

test('the socket wait states how arrivals were stamped', () => {
  const run = golden('passing');
  const more = () => check(run, 'socket wait').more ?? '';
  assert.doesNotMatch(more(), /arrival.* by the/, 'earlier versions have no stamps');
  run.health.arrival_stamps = { kernel: 166_702, read: 72 };
  assert.match(more(), /\b166,702 arrivals by the kernel’s stamp, 72 by the read; .*p50 /);
  run.health.socket_wait = null;
  run.health.arrival_stamps = { kernel: 0, read: 3 };
  assert.match(more(), /\b0 arrivals by the kernel’s stamp, 3 by the read$/);
  run.health.arrival_stamps = { kernel: 0, read: 0 };
  assert.equal(more(), '');
});

test('the maximum is shown if there are too few samples for a p99', () => {
  const run = golden('passing');
  assert.ok(run.health.lateness);
  Object.assign(run.health.lateness, { count: 99, p99: 0.4, max: 0.5 });
  assert.equal(check(run, 'lateness').figure, 'max 0.500 ms');
});

test('a run of an earlier version shows its schedule stage as lateness', () => {
  const run = golden('passing');
  delete run.health.lateness;
  latencyOf(run.latency, 'schedule').p99 = 1000;
  assert.equal(check(run, 'lateness').figure, 'p99 1,000 ms');
});

test('no figure is judged before the first sample', () => {
  const run = golden('started');
  assert.equal(check(run, 'lateness').figure, 'not available');
  assert.equal(check(run, 'socket wait').figure, 'no sample yet');
  assert.ok(checks(run, true).every(({ ok }) => ok === null));
});

test('a run of two days has a CPU figure: its seconds are more than a call takes arguments', () => {
  const run = golden('passing');
  const [second] = run.timeline;
  const generator = { cpu_percent: 20, rss_mb: 100 };
  run.timeline = Array.from({ length: 172_800 }, (_, t) => ({ ...second, t, generator }) as Interval);
  (run.timeline[90_000] as Interval).generator = { cpu_percent: 30, rss_mb: 200 };
  assert.match(check(run, 'CPU').more ?? '', /^max 30 %; memory at most 200 MB$/);
});

test('the CPU figure counts the seconds in which the generator was too busy', () => {
  const run = golden('passing');
  run.timeline = Array.from({ length: 40 }, (_, t) => ({
    ...(run.timeline[0] as Run['timeline'][number]),
    t,
    generator: { cpu_percent: t < 3 ? 181 : 180, rss_mb: 100 },
  }));
  change(run, 'cpu', { value: 3, limit: 2, ok: false });
  const { figure, limit, more } = check(run, 'CPU');
  assert.equal(figure, 'mean 180 %, too busy in 3 of 40 s', 'the limit applies to the seconds');
  assert.equal(limit, '2 s');
  assert.equal(more, 'max 181 %; memory at most 100 MB');
});

test('with two clocks, a stage between processes is marked if below ten times the clock bound', () => {
  const run = golden('passing');
  const { clock, latency } = run;
  assert.ok(clock);
  const marked = () =>
    stagesOf(run)
      .filter((stage) => uncertain(run, stage))
      .map(({ name }) => name);
  Object.assign(clock, { one_host: false, bound_ms: 0.03 });
  const p50s: Record<string, number> = {
    schedule: 0.01,
    request: 0.4,
    ingest: 0.01,
    queue: 0.2,
    relay: 0.01,
    delivery: 0.3,
  };
  for (const [stage, p50] of Object.entries(p50s)) latencyOf(latency, stage).p50 = p50;
  assert.deepEqual(marked(), ['queue'], 'stages of one process have one clock; ten times suffices');
  assert.equal(check(run, 'clock bound').more, 'stages shorter than ten times as much are marked ±');
  assert.deepEqual(
    [check(run, 'clock bound').limit, check(run, 'clock bound').ok],
    [null, null],
    'no limit is set',
  );
  clock.bound_ms = 1000;
  assert.deepEqual(marked(), ['request', 'queue', 'delivery']);
  clock.one_host = true;
  assert.deepEqual(marked(), [], 'one host has one clock');
  clock.reference = 'monotonic';
  assert.ok(!names(run).includes('clock bound'));
  assert.deepEqual(crossing(golden('without-stages')), []);
});

test('the gaps figure has count, total length and open gaps', () => {
  const run = golden('gap');
  assert.deepEqual([check(run, 'gaps').figure, check(run, 'gaps').more], ['1', '1.4 s in all']);
  assert.deepEqual(gapSpans(run), [{ start: 3.24, end: 4.61 }]);
  run.health.gaps.push({ subscriber: 0, from_s: 5, to_s: null, reason: 'EOF' });
  assert.deepEqual(
    [check(run, 'gaps').figure, check(run, 'gaps').more],
    ['2', '1.4 s in all; 1 without end'],
  );
  assert.equal(gapSpans(run)[1]?.end, Number.POSITIVE_INFINITY);
  assert.equal(check(run, 'gaps').ok, false);
  assert.equal(check(golden('passing'), 'gaps').figure, 'none');
});

test('k6’s Trend is mentioned only when it lacks samples', () => {
  assert.equal(check(golden('gap'), 'k6’s Trend').figure, '1 sample in 10');
  assert.ok(!names(golden('passing')).includes('k6’s Trend'));
});

test('the closed model has no lateness', () => {
  assert.ok(!names(golden('closed')).includes('lateness'));
});

test('an unbalanced account hides every latency', () => {
  assert.deepEqual(names(golden('unbalanced'), false), [
    ...['CPU', 'dropped', 'canary', 'gaps', 'discarded', 'negative'],
  ]);
  const words = JSON.stringify(checks(golden('unbalanced'), false));
  assert.doesNotMatch(words, /\bp\d\d|\d\u00a0ms/);
});

test('the canary sentence has arrivals, p50 and maximum', () => {
  const run = golden('passing');
  Object.assign(run.canary ?? {}, { sent: 51, arrived: 50 });
  Object.assign(run.canary?.latency ?? {}, { count: 50, p50: 2.1, max: 4 });
  assert.equal(plain(canarySentence(run) ?? ''), 'Canary: 50 of 51 arrived, p50 2.10 ms, max 4.00 ms.');
  Object.assign(run.canary ?? {}, { arrived: 0 });
  assert.equal(canarySentence(run), 'Canary: 0 of 51 arrived.');
  run.canary = null;
  assert.equal(canarySentence(run), null);
  assert.equal(canarySentence(golden('started')), null, 'none has been sent yet');
  assert.equal(canaryPace(1), 'one message a second');
  assert.equal(plain(canaryPace(5)), 'one message every 5 s');
});

test('the measured value of a rule never reads like a limit that it is not', () => {
  const of = (value: number | null, limit: number | null, unit: string, basis = '') =>
    plain(measuredText({ value, limit, unit, basis }));
  assert.deepEqual([of(99.96, 99.9, '%'), of(98.75, 99, '%')], ['99.96 %', '98.8 %']);
  assert.equal(of(99.9999, 99, '%'), '> 99.99 %', 'not all is never 100 %');
  assert.deepEqual([of(99.96, 250, 'ms'), of(250.2, 250, 'ms')], ['100 ms', '250.2 ms']);
  assert.deepEqual([of(1177, 0, 'messages'), of(null, 99, '%')], ['1,177 messages', '–']);
  assert.equal(of(7.254, 7.246, 'ms', '25 % of arrival p99'), '7.254 ms', 'the limit reads 7.25 ms');
});

test('a broken rule on the instrument without a row of its own gets one', () => {
  const run = golden('passing');
  const rule: Rule = {
    ...{ name: 'long_pauses', value: 3, op: '<=', limit: 0, unit: 'pauses', ok: false, result: 'invalid' },
    ...{ basis: '', reason: 'the generator paused', part: 'receiving', trusted_anyway: ['http'] },
  };
  run.verdict.rules?.push(rule, { ...rule, name: 'short_pauses', ok: true });
  const { figure, limit, ok } = check(run, 'long pauses');
  assert.deepEqual([figure, limit, ok], ['3 pauses', 'none', false]);
  assert.ok(!names(run).includes('short pauses'));
});
