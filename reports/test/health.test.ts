import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crossing, gapSpans, uncertain } from '../page/facts.ts';
import { type Check, canaryPace, canarySentence, checks } from '../page/health.ts';
import { type Run, STAGES } from '../run.ts';
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

test('a run that passed keeps every limit', () => {
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
  assert.equal(judged.length, 7, 'canary and the one clock of one host have no limit');
});

test('lateness may be 5 % of arrival p99, and 2 ms in any case', () => {
  const run = golden('passing');
  const { arrival } = run.latency;
  assert.ok(run.health.lateness);
  for (const [late, whole, limit, ok] of [
    [1.99, 3, '2.00 ms', true],
    [2, 3, '2.00 ms', true],
    [2.01, 3, '2.00 ms', false],
    [5, 100, '5.00 ms', true],
    [5.01, 100, '5.00 ms', false],
    [49, 1000, '50.0 ms', true],
  ] as const) {
    run.health.lateness.p99 = late;
    arrival.p99 = whole;
    const row = check(run, 'lateness');
    assert.deepEqual([row.limit, row.ok], [limit, ok], `${late} of ${whole}`);
  }
  assert.match(check(run, 'lateness').more ?? '', /^5 % of arrival p99; p50 /);
});

test('the socket wait has the same limit, and is not judged where the system does not tell', () => {
  const run = golden('passing');
  assert.ok(run.health.socket_wait);
  Object.assign(run.health.socket_wait, { p99: 2.5, max: 3 });
  assert.deepEqual([check(run, 'socket wait').figure, check(run, 'socket wait').ok], ['p99 2.50 ms', false]);
  run.health.socket_wait = null;
  assert.deepEqual([check(run, 'socket wait').figure, check(run, 'socket wait').ok], ['not available', null]);
});

test('too few samples for a p99: the largest one is told', () => {
  const run = golden('passing');
  assert.ok(run.health.lateness);
  Object.assign(run.health.lateness, { count: 99, p99: 0.4, max: 0.5 });
  assert.equal(check(run, 'lateness').figure, 'max 0.500 ms');
});

test('an earlier version tells the lateness of what arrived alone', () => {
  const run = golden('passing');
  delete run.health.lateness;
  run.latency.stages.schedule.p99 = 1000;
  assert.equal(check(run, 'lateness').ok, false);
});

test('before the first sample nothing is judged but what is counted', () => {
  const run = golden('started');
  assert.equal(check(run, 'lateness').figure, 'not available');
  assert.equal(check(run, 'socket wait').figure, 'no sample yet');
  assert.deepEqual(
    checks(run, true)
      .filter(({ ok }) => ok !== null)
      .map(({ what }) => what),
    ['dropped', 'gaps', 'discarded', 'negative'],
  );
});

test('the generator may be busy in 5 % of the seconds', () => {
  const run = golden('passing');
  const busy = (seconds: number) => {
    run.timeline = Array.from({ length: 40 }, (_, t) => ({
      ...(run.timeline[0] as Run['timeline'][number]),
      t,
      generator: { cpu_percent: t < seconds ? 181 : 180, rss_mb: 100 },
    }));
    return check(run, 'CPU');
  };
  assert.deepEqual([busy(2).limit, busy(2).ok], ['5 % of the seconds', true]);
  assert.equal(
    plain(busy(3).figure),
    'mean 180 %, above 180 % in 3 of 40 s',
    'the figure is what the limit is of',
  );
  assert.equal(plain(busy(3).more ?? ''), 'max 181 %; memory at most 100 MB');
  assert.equal(busy(3).ok, false);
  run.environment.gomaxprocs = 1;
  assert.deepEqual(
    [plain(busy(0).rule ?? ''), busy(0).ok],
    ['above 90 % of 1 core', false],
    'the cores that it may use count',
  );
  delete run.environment.gomaxprocs;
  run.environment.cores = null;
  assert.deepEqual([busy(40).limit, busy(40).ok], [null, null], 'nothing to hold it against');
});

test('none may be dropped or discarded, and 1 % negative', () => {
  const run = golden('passing');
  run.account.dropped = 1;
  run.health.samples_discarded = 2;
  run.account.deliveries.arrived = 1000;
  run.account.negative = 10;
  assert.equal(check(run, 'dropped').ok, false);
  assert.equal(check(run, 'discarded').ok, false);
  assert.deepEqual([check(run, 'negative').limit, check(run, 'negative').ok], ['10', true]);
  run.account.negative = 11;
  assert.equal(check(run, 'negative').ok, false);
});

test('the clock bound may be 10 % of the shortest stage that is not marked, and what was set', () => {
  const run = golden('passing');
  const { clock, latency } = run;
  assert.ok(clock);
  const bound = (bound_ms: number, limit_ms: number | null, one_host = false) => {
    Object.assign(clock, { bound_ms, limit_ms, one_host });
    const { limit, ok } = check(run, 'clock bound');
    return [limit, ok];
  };
  const p50s = { schedule: 0.01, request: 0.4, ingest: 0.01, queue: 0.2, relay: 0.01, delivery: 0.3 };
  for (const stage of STAGES) latency.stages[stage].p50 = p50s[stage];
  assert.deepEqual(bound(0.02, null), ['0.020 ms', true], 'stages of one process have one clock');
  assert.deepEqual(bound(0.021, null), ['0.020 ms', false]);
  assert.deepEqual(bound(0.25, null), ['0.030 ms', false], 'queue is marked, delivery is not');
  assert.deepEqual(bound(0.5, null), [null, null], 'all are marked');
  assert.deepEqual(bound(0.5, 0.6), ['0.600 ms', true]);
  assert.deepEqual(bound(0.01, 0.005), ['0.005 ms', false]);
  assert.deepEqual(bound(0.021, 1), ['0.020 ms', false], 'what was set does not lift the other limit');
  assert.deepEqual(bound(0.021, null, true), [null, null], 'one host has one clock');
  assert.deepEqual(bound(0.021, 0.02, true), ['0.020 ms', false], 'what was set holds for it too');
  clock.reference = 'monotonic';
  assert.ok(!names(run).includes('clock bound'));
});

test('only stages between two processes can be shorter than the clock bound', () => {
  const run = golden('passing');
  assert.ok(run.clock);
  run.clock.bound_ms = 1000;
  assert.deepEqual(
    STAGES.filter((stage) => uncertain(run, stage)),
    ['request', 'queue', 'delivery'],
  );
  run.clock.bound_ms = run.latency.stages.request.p50;
  assert.equal(uncertain(run, 'request'), false, 'as long as the bound is not shorter');
  assert.deepEqual(crossing(golden('without-stages')), []);
});

test('gaps: how many, how long, and those without end', () => {
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

test('k6’s Trend is told of only where it has not got all', () => {
  assert.equal(check(golden('gap'), 'k6’s Trend').figure, '1 sample in 10');
  assert.ok(!names(golden('passing')).includes('k6’s Trend'));
});

test('in the closed model nothing can be late', () => {
  assert.ok(!names(golden('closed')).includes('lateness'));
});

test('no latency stands behind an account that does not balance', () => {
  assert.deepEqual(names(golden('unbalanced'), false), [
    ...['CPU', 'dropped', 'canary', 'gaps', 'discarded', 'negative'],
  ]);
  const words = JSON.stringify(checks(golden('unbalanced'), false));
  assert.doesNotMatch(words, /\bp\d\d|\d\u00a0ms/);
});

test('the canary in a sentence', () => {
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
