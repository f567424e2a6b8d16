import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { BUSY, limit, needed, type Station, seeded, simulate } from './scaling.ts';

const one = (more: Partial<Station> = {}): Station => ({
  name: 'one',
  servers: 1,
  service_us: 100,
  spread: 'exponential',
  ...more,
});
const MESSAGES = 400_000;

/** What theory says of the mean wait, µs, at these messages/s. */
const theory: [name: string, station: Station, rate: number, wait_us: number][] = [
  // M/M/1: ρ/(1 − ρ) services.
  ['M/M/1 at 0.5', one(), 5000, 100],
  ['M/M/1 at 0.8', one(), 8000, 400],
  // M/D/1: half of it.
  ['M/D/1 at 0.8', one({ spread: 'fixed' }), 8000, 200],
  // M/M/2: Erlang C at 0.8 is 0.7111; divided by 2µ − λ.
  ['M/M/2 at 0.8', one({ servers: 2 }), 16_000, (0.7111 / (20_000 - 16_000)) * 1e6],
];
for (const [name, station, rate, wait] of theory) {
  test(`the simulation waits as theory says: ${name}`, () => {
    const [{ busy, mean_us } = { busy: 0, mean_us: 0 }] = simulate([station], rate, MESSAGES, seeded(7));
    assert.ok(Math.abs(mean_us - wait) < 0.06 * wait, `${mean_us} µs, told ${wait}`);
    assert.ok(Math.abs(busy - (rate * station.service_us) / 1e6 / station.servers) < 0.01, `${busy}`);
  });
}

test('one station after the other: each waits as if it were alone (Burke), and the same seed gives the same', () => {
  const both = [one(), one({ name: 'two', service_us: 50 })];
  const [first, second] = simulate(both, 8000, MESSAGES, seeded(3));
  assert.ok(Math.abs((first?.mean_us ?? 0) - 400) < 30 && Math.abs((second?.mean_us ?? 0) - 33.3) < 3);
  assert.deepEqual(simulate(both, 8000, 1000, seeded(3)), simulate(both, 8000, 1000, seeded(3)));
});

test('processes that a rate needs are never busier than allowed, and one less would be', () => {
  const cost = { ingest: 50, redis: 10, relay: 20, mosquitto: 20 };
  const count = needed(100_000, cost);
  assert.deepEqual(count, { ingest: 8, redis: 2, relay: 3, mosquitto: 3 });
  for (const [stage, us] of Object.entries(cost)) {
    const n = count[stage as keyof typeof cost];
    assert.ok((100_000 * us) / 1e6 / n <= BUSY && (100_000 * us) / 1e6 / (n - 1) > BUSY);
  }
  assert.deepEqual(limit(cost), { stage: 'ingest', rate: 20_000 });
});

test('what is asked in vain is told in one line', async () => {
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [join(import.meta.dirname, 'scaling.ts'), ...args]);
  await assert.rejects(run('many'), { stderr: '"many" is no rate; allowed: 1 to 10,000,000 messages/s\n' });
  await assert.rejects(run('--cost', 'ingest=0'), {
    stderr: /^--cost has "ingest=0"; allowed: ingest, redis, relay, mosquitto, .*\n$/,
  });
  assert.match(
    (await run('10000')).stdout,
    /^one process each: ingest is full at 21,834 messages\/s\n10,000 messages\/s: 0\.9 cores\n/,
  );
});
