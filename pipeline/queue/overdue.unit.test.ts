import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { PendingRow } from './connection.ts';
import { Overdue } from './overdue.ts';

const LEASE_MS = 30_000;
const HOUR = 3_600_000;

/** Redis with a clock that may step, and relays that hold entries. All times are ms. */
class Simulation {
  readonly #leaseMs: number;
  #overdue = new Overdue();
  /** Our clock, and how far Redis' one is ahead of it. */
  #now: number;
  #ahead = 1_700_000_000_000;
  readonly #entries = new Map<string, { holder: string; delivered: number }>();

  constructor(leaseMs = LEASE_MS) {
    this.#leaseMs = leaseMs;
    this.#now = leaseMs;
  }

  hold(holder: string, id: string): void {
    this.#entries.set(id, { holder, delivered: this.#now + this.#ahead });
  }

  /** Lets time pass, with a look at a twelfth of a lease. `renewing` relays renew theirs at a half. */
  pass(ms: number, renewing: readonly string[] = []): string[] {
    const found = new Set<string>();
    const tick = this.#leaseMs / 12;
    for (let passed = 0; passed < ms; passed += tick) {
      this.#now += tick;
      if (Math.round(this.#now / tick) % 6 === 0)
        for (const [id, { holder }] of this.#entries) if (renewing.includes(holder)) this.hold(holder, id);
      for (const id of this.look()) found.add(id);
    }
    return [...found];
  }

  /** Another relay looks, which has just started. */
  startAnother(): void {
    this.#overdue = new Overdue();
  }

  look(consumer = 'own'): string[] {
    const ms = this.#now + this.#ahead;
    const rows = [...this.#entries].map(
      ([id, { holder, delivered }]): PendingRow => [id, holder, Math.max(0, ms - delivered), 1],
    );
    return this.#overdue.of(ms, rows, consumer, this.#leaseMs, this.#now).map(([id]) => id);
  }

  step(ms: number): void {
    this.#ahead += ms;
  }
}

let redis: Simulation;
beforeEach(() => {
  redis = new Simulation();
  redis.hold('own', '1');
  redis.hold('alive', '2');
  redis.hold('dead', '3');
});

test('what a dead relay held is abandoned after the lease, what we or a living one hold never', () => {
  assert.deepEqual(redis.pass(LEASE_MS - 2500, ['own', 'alive']), []);
  assert.deepEqual(redis.pass(3 * LEASE_MS, ['own', 'alive']), ['3']);
});

test('a relay that starts later takes what nobody renews in its first lease', () => {
  redis.pass(3 * LEASE_MS, ['alive']);
  redis.startAnother();
  assert.deepEqual(redis.pass(LEASE_MS, ['alive']), []);
  assert.deepEqual(redis.pass(5000, ['alive']), ['3']);
});

// Regression: it trusted Redis' idle times at its first look, and robbed living relays.
for (const step of [HOUR, LEASE_MS, -HOUR]) {
  test(`a relay that starts just after a step by ${step / 1000} s takes nothing that is renewed`, () => {
    redis.pass(5000, ['alive']);
    redis.step(step);
    redis.startAnother();
    assert.deepEqual(redis.pass(3 * LEASE_MS, ['alive']), ['3']);
  });
}

// Regression: a step below 1 s counted as none, whatever the lease.
for (const lease of [120, 480, 2400, LEASE_MS]) {
  for (const [share, then] of [
    [0.3, 0.3],
    [0.9, 0.9],
    [0.9, -0.9],
  ] as const) {
    test(`steps of ${share} and ${then} leases, again and again, do not shorten a lease of ${lease} ms`, () => {
      const short = new Simulation(lease);
      short.hold('alive', '2');
      for (let looks = 0; looks < 40; looks++) {
        short.step(lease * (looks % 2 === 0 ? share : then));
        assert.deepEqual(short.pass(lease / 4, ['alive']), []);
      }
    });
  }
}

// Regression: a relay took over its own messages, and those of living ones, so all of them arrived twice.
for (const step of [HOUR, 40_000, 24 * HOUR]) {
  test(`a step of Redis' clock by ${step / 1000} s abandons nothing that is renewed`, () => {
    assert.deepEqual(redis.pass(5000, ['own', 'alive']), []);
    redis.step(step);
    assert.deepEqual(redis.pass(LEASE_MS - 7500, ['own', 'alive']), []);
    assert.deepEqual(redis.pass(2 * LEASE_MS, ['own', 'alive']), ['3']);
  });
}

// Regression: a dead relay's messages waited for as long as the clock had been set back.
for (const step of [-600_000, -HOUR, -40_000]) {
  test(`a step of Redis' clock by ${step / 1000} s hides nothing that is abandoned`, () => {
    assert.deepEqual(redis.pass(5000, ['own', 'alive']), []);
    redis.step(step);
    assert.deepEqual(redis.pass(2 * LEASE_MS, ['own', 'alive']), ['3']);
  });
}

test('a relay that was frozen and renews again keeps what nobody took', () => {
  assert.deepEqual(redis.pass(20_000), []);
  redis.step(HOUR);
  assert.deepEqual(redis.pass(2500), []);
  assert.deepEqual(redis.pass(LEASE_MS, ['own', 'alive', 'dead']), []);
});
