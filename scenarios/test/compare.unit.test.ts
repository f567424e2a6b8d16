import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Run } from '../../reports/contract/run.ts';
import { agreementOf } from '../campaigns/compare/agreement.ts';
import { bottleneck, findLimit, limitText } from '../campaigns/compare/limits.ts';
import { main } from '../campaigns/compare/main.ts';
import { type Options, readOptions } from '../campaigns/compare/options.ts';
import { generatorsOf, reachOf } from '../campaigns/compare/tools.ts';
import { figuresIn } from '../campaigns/compare/wrk.ts';
import { assertRefused } from './harness.ts';

const GOLDEN = join(import.meta.dirname, '../../reports/testdata/passing.json');

/** The golden run with another tool and arrival p50. */
function runOf(tool: string, p50: number): Run {
  const run = JSON.parse(readFileSync(GOLDEN, 'utf8')) as Run;
  run.run.tool.name = tool;
  run.latency.arrival.p50 = p50;
  run.clock = run.clock && { ...run.clock, bound_ms: 0.1 };
  run.run.profile.phases = run.run.profile.phases.slice(0, 1).map((phase) => ({ ...phase, duration_s: 10 }));
  run.account.scheduled = 10_000;
  run.facts.generator = { cpu_us_per_message: 500, memory_mb: 90 };
  return run;
}

test('tools agree if their figures differ by at most 10 %', () => {
  const of = (...others: number[]) => {
    const { agree, shown } = agreementOf([runOf('k6', 1), ...others.map((p50) => runOf('artillery', p50))]);
    return { agree, row: shown.rows[0], answer: shown.notes[0] };
  };
  const { agree, row, answer } = of(1.09);
  assert.deepEqual(row, ['arrival p50', '1.000', '1.090', '+0.090', '±0.100', 'yes']);
  assert.equal(agree, true);
  assert.equal(answer, 'The tools agree on p50 and p99 of arrival.');
  assert.deepEqual(of(1.11).row?.slice(3), ['+0.110', '±0.100', 'NO']);
  assert.equal(of(1.11).agree, false);
  assert.equal(of(1.11).answer, 'The tools do not agree on p50 of arrival.');
  assert.equal(of(0.89).agree, false);
  assert.equal(of(1, 1.05, 9).agree, true, 'the median of three runs counts');
});

// Regression: with a clock bound of 5 ms, runs of 1 and 5 ms agreed, though each figure uses one clock.
test('the clock bound does not count: each tool times an arrival with one clock', () => {
  for (const one_host of [true, false]) {
    const runs = [runOf('k6', 1), runOf('artillery', 5)];
    for (const { clock } of runs) Object.assign(clock ?? {}, { one_host, bound_ms: 5 });
    assert.equal(agreementOf(runs).agree, false);
  }
});

test('agreement is unknown with a run in doubt or a single tool', () => {
  const alone = agreementOf([runOf('k6', 1)]);
  assert.deepEqual([alone.agree, alone.shown.rows], [undefined, []]);
  assert.match(alone.shown.notes[0] ?? '', /one of them measured nothing/);
  const late = runOf('artillery', 1);
  late.facts.doubts = [{ claim: 'arrival', direction: 'too_high', by: ['lateness'], text: 'it was late' }];
  const { agree, shown } = agreementOf([runOf('k6', 1), late]);
  assert.equal(agree, undefined);
  assert.match(
    shown.notes[0] ?? '',
    /^Whether the tools agree is unknown: the arrival of 1 of 2 runs is in doubt/,
  );
});

/** A verdict with a broken rule; the limits on the pipeline may hold all the same. */
const broken = (name: string, reason: string): Run['verdict'] => ({
  ...{ result: 'pass', meaning: '', reasons: [], doubts: [reason] },
  rules: [
    {
      name,
      reason,
      ok: false,
      result: 'doubt',
      value: 1,
      op: '<=',
      limit: 0,
      unit: '',
      basis: '',
      part: 'pipeline',
    },
  ],
});

// Regression: a generator that was late by far kept up with every rate, as its run passed.
test('findLimit finds the rate at which a generator becomes the bottleneck, and why', async () => {
  const tried: number[] = [];
  const probe = async (rate: number) => {
    tried.push(rate);
    const verdict =
      rate > 1000 ? broken('lateness', 'the generator was late: by far') : broken('lost', '3 messages lost');
    return { verdict };
  };
  const limit = await findLimit('artillery', 200, 3200, probe);
  assert.ok(limit.kept <= 1000 && limit.tooMuch !== undefined && limit.tooMuch > 1000, `${tried}`);
  assert.ok(limit.tooMuch <= limit.kept * 1.25);
  assert.deepEqual(tried.slice(0, 5), [200, 400, 800, 1600, 1600], 'a rate that is too high is tried again');
  assert.match(
    limitText(limit),
    /^artillery keeps up with [\d,]+ requests\/s, and is the bottleneck from [\d,]+ requests\/s on: the generator was late: by far\.$/,
  );
  const never = await findLimit('k6', 200, 800, probe);
  assert.equal(limitText(never), 'k6 keeps up with 800 requests/s, the highest rate tried.');
  const verdict = broken('clock_bound', 'the clock bound is above the limit');
  assert.equal(bottleneck({ verdict }), undefined, 'the clock bound says nothing about the generator');
});

test("figuresIn reads wrk's output", () => {
  const output = `  Latency Distribution
     50%    1.23ms
     75%    2.00ms
     90%  903.00us
     99%    1.02s
  1000 requests in 10.00s, 2MB read
  Non-2xx or 3xx responses: 7
Requests/sec:   2345.60
`;
  assert.deepEqual(figuresIn(output), { rate: 2345.6, p50: 1.23, p99: 1020, refused: 7 });
  assert.throws(
    () => figuresIn('unable to connect\n'),
    /^Error: wrk reported no requests: unable to connect$/,
  );
});

test('the table has a column per run and marks an account that does not balance', () => {
  const open = runOf('artillery', 2);
  open.account.balanced = false;
  const { head, rows } = generatorsOf([runOf('k6', 1), open]);
  const row = (name: string) => rows.find(([first]) => first === name)?.slice(1);
  assert.deepEqual(head, ['figure', 'k6', 'artillery']);
  assert.deepEqual(row('account'), ['balances', 'OPEN']);
  assert.deepEqual(row('arrival p50, ms'), ['1', '2']);
  assert.deepEqual(row('CPU of the generator a message, µs'), ['500', '500']);
});

test('the table of limits gives each limit with its reason; wrk adds only a note', () => {
  const limit = { tool: 'artillery', kept: 800, tooMuch: 1000, reason: 'the generator was late: by far' };
  const wrk = { connections: 64, rate: 16_263.4, p50: 3.53, p99: 13.3, refused: 2 };
  const both = reachOf([limit], wrk);
  assert.deepEqual(both?.rows, [['artillery', '800', '1000']]);
  assert.deepEqual(both?.notes[0], limitText(limit));
  assert.match(both?.notes[1] ?? '', /^wrk: 16,263 requests\/s over 64 connections, .* all but 2 accepted/);
  assert.deepEqual(reachOf([], wrk)?.rows, []);
  assert.match(reachOf([], { ...wrk, p99: 1234 })?.notes[0] ?? '', / p50 3\.53 ms, p99 1,234 ms; /);
  assert.equal(reachOf([]), undefined);
});

test('readOptions refuses an invalid flag', () => {
  const wrong: [args: string[], message: string | RegExp][] = [
    [['--rate', '0'], '--rate is "0"; allowed: whole numbers from 1 to 5000'],
    [['--repeat', ''], '--repeat is ""; allowed: whole numbers from 1 to 20'],
    [['--rate', '300', '--most', '200'], '--most is "200"; allowed: whole numbers from 300 to 20000, or 0'],
    [['--network', 'moon'], '--network is "moon"; allowed: lan, firewall, internet, wan'],
    [['--network', 'lan', '--delay', '9'], '--delay needs --network wan'],
    [['--network', 'wan', '--delay', '0'], '--delay is "0"; allowed: whole numbers from 1 to 1000'],
    [['--speed', '9'], /^--speed is not known; allowed: --rate, /],
  ];
  for (const [args, message] of wrong) assert.throws(() => readOptions(args), { message });
  const args = ['--network=wan', '--delay=20', '--most=0', '--must-agree'];
  const { network, most, mustAgree } = readOptions(args) as Options;
  assert.deepEqual([network?.name, network?.delay, network?.loss], ['wan', 20, 0]);
  assert.deepEqual([most, mustAgree], [0, true]);
  assert.equal((readOptions([]) as Options).network, undefined);
});

test('a pipeline that a tool cannot use is refused before Artillery is installed', async () => {
  const INGEST_URL = 'http://127.0.0.1:1';
  await assertRefused(main, [], { INGEST_URL }, /^INGEST_URL is set; allowed: with MQTT_URL and REDIS_URL/);
  await assertRefused(
    main,
    ['--network', 'lan'],
    { INGEST_URL },
    /^INGEST_URL is set, and over a network .* a pipeline of their own: leave it out$/,
  );
});
