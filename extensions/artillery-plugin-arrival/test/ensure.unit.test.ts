import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { explainChecks, reasons } from '../ensure.ts';

const FIGURES = { 'arrival.lost': 2, 'arrival.latency.p99': 31.5 };

test('a check that failed is explained by the figures that it names', () => {
  assert.deepEqual(reasons('arrival.latency.p99 < 20 and arrival.lost < 1', FIGURES), [
    'arrival.latency.p99 is 31.5, and ensure wants arrival.latency.p99 < 20 and arrival.lost < 1',
    'arrival.lost is 2, and ensure wants arrival.latency.p99 < 20 and arrival.lost < 1',
  ]);
  assert.deepEqual(reasons('http.response_time.p99 < 20', FIGURES), []);
});

test('a figure that the report does not have is answered with the one that was meant', () => {
  const [p99] = reasons('arrival.p99 < 20', FIGURES);
  assert.match(
    String(p99),
    /arrival\.p99 is not in the report, arrival\.latency\.p99 is; allowed: arrival\.lost, /,
  );
  assert.match(String(reasons('arrival.lsot < 1', FIGURES)), /, arrival\.lost is; /);
});

test('only checks that failed are explained, in the same turn of the event loop', async (t) => {
  const log = t.mock.method(console, 'log', () => {});
  const events = new EventEmitter();
  explainChecks(events);
  events.emit('done', {
    counters: { 'arrival.lost': 2, 'http.requests': 9 },
    summaries: { 'arrival.latency': { p99: 5 } },
  });
  events.emit('checks', [
    { original: 'arrival.latency.p99 < 20', result: 1 },
    { original: 'arrival.lost < 1', result: 0 },
  ]);
  await null;
  assert.deepEqual(
    log.mock.calls.map(({ arguments: [line] }) => line),
    ['arrival: arrival.lost is 2, and ensure wants arrival.lost < 1'],
  );
});
