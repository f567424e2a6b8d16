import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latencyOf } from '../../../reports/latency.ts';
import type { Interval } from '../../../reports/run.ts';
import { Ledger } from '../ledger.ts';
import { Pacer } from '../pacer.ts';
import { latenciesOf } from '../report.ts';
import { type Evidence, judge } from '../verdict.ts';

const flow = {
  name: 'direct',
  weight: 1,
  target: 'user',
  targets: 1,
  messages: 1,
  deliveries: 1,
  payloadBytes: 0,
};
const phase = { name: 'all', duration: 1, rate: 100, rampTo: 100, measured: true };

/** A run of 100 messages, each sent `late` µs after it was due and 10 ms under way. */
function evidence(late: number, change: Partial<Evidence> = {}, sent = 100): Evidence {
  const ledger = new Ledger(new Pacer([phase], [flow]), 0);
  for (let n = 0; n < sent; n++) {
    const at = n * 10_000 + late;
    ledger.send(n, at);
    ledger.settle(n, 'accepted', at + 1000);
    ledger.arrive(0, at + 10_000, n, undefined);
  }
  return {
    account: ledger.account(true),
    latency: latenciesOf(ledger.measures.measured),
    lateness: latencyOf(ledger.measures.lateness),
    clock: {
      reference: 'redis TIME',
      offset_ms: 0,
      bound_ms: 0.1,
      generator_bound_ms: 0.05,
      one_host: true,
      limit_ms: null,
      drift_ppm: 0,
      probes: 10,
      processes: [],
    },
    gaps: [],
    timeline: [],
    cores: 2,
    qos: 1,
    ended: true,
    doubts: [],
    ...change,
  };
}

const resultOf = judge;
const broken = (given: Evidence) =>
  judge(given).rules?.flatMap(({ name, ok }) => (ok === false ? [name] : []));

test('a run in time passes', () => {
  const { result, reasons, rules } = resultOf(evidence(1900));
  assert.deepEqual([result, reasons], ['pass', []]);
  assert.ok(rules?.every(({ ok }) => ok));
});

test('a run that its generator was late for is invalid, and says so', () => {
  const { result, reasons } = resultOf(evidence(2100));
  assert.equal(result, 'invalid');
  assert.match(reasons.join(), /the generator was late: lateness p99 2\.1 ms of arrival p99 12\.1 ms/);
});

test('it was late for what then does not arrive, too', () => {
  const ledger = new Ledger(new Pacer([phase], [flow]), 0);
  for (let n = 0; n < 100; n++) {
    ledger.send(n, n * 10_000 + 5_000_000);
    ledger.settle(n, 'rejected', n * 10_000 + 5_001_000);
  }
  const { lateness, measured } = ledger.measures;
  assert.equal(measured.stages[0]?.count, 0);
  const { reasons } = resultOf(evidence(0, { lateness: latencyOf(lateness) }));
  assert.match(reasons.join(), /the generator was late: lateness p99 5\d\d\d\.\d ms of arrival p99 10\.0 ms/);
});

test('what was not sent makes a run invalid', () => {
  const { result, reasons } = resultOf(evidence(0, {}, 90));
  assert.equal(result, 'invalid');
  assert.match(reasons.join(), /10 of 100 messages were never sent/);
});

test('a run whose generator had no CPU left is invalid; a second of it is nothing', () => {
  const seconds = (busy: number) =>
    Array.from({ length: 40 }, (_, t) => ({
      t,
      generator: { cpu_percent: t < busy ? 190 : 50, rss_mb: 100 },
    })) as Interval[];
  assert.equal(resultOf(evidence(0, { timeline: seconds(2) })).result, 'pass');
  const { result, reasons } = resultOf(evidence(0, { timeline: seconds(3) }));
  assert.equal(result, 'invalid');
  assert.deepEqual(reasons, ['the generator was out of CPU: above 90 % of its 2 cores in 3 of 40 seconds']);
});

test('what was lost makes it fail', () => {
  const given = evidence(0);
  const lost = { ...given, account: { ...given.account, arrived: 98, lost: 2 } };
  const { result, reasons } = judge(lost);
  assert.deepEqual([result, reasons, broken(lost)], ['fail', ['2 messages lost'], ['lost']]);
});

test('at QoS 0 a loss is counted, and no failure', () => {
  const given = evidence(0, { qos: 0 });
  const { result, rules } = judge({ ...given, account: { ...given.account, arrived: 98, lost: 2 } });
  assert.equal(result, 'pass');
  assert.ok(rules?.every(({ name }) => name !== 'lost'));
});

test('a run that was stopped is incomplete, whatever else', () => {
  assert.equal(resultOf(evidence(5000, { ended: false })).result, 'incomplete');
});

test('clocks that are known worse than the limit make a run invalid; without a limit none do', () => {
  const clock = { ...evidence(0).clock, one_host: false, bound_ms: 3 };
  assert.equal(resultOf(evidence(0, { clock })).result, 'pass', 'arrival needs one clock');
  assert.match(
    resultOf(evidence(0, { clock: { ...clock, limit_ms: 2 } })).reasons.join(),
    /above the limit of 2\.000 ms/,
  );
});
