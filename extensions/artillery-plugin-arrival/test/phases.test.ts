import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pacer } from '../pacer.ts';
import { Leader, noteEnds, type PhaseEnd } from '../phases.ts';
import { Taken } from '../taken.ts';
import type { Told } from '../thread.ts';

const flow = {
  name: 'direct',
  weight: 1,
  target: 'user',
  targets: 1,
  messages: 1,
  deliveries: 1,
  payloadBytes: 0,
};

test('open model: each phase that is over has what was owed then, and the last one when nothing was any more', () => {
  const phase = { duration: 2, rate: 10, rampTo: 10, measured: true };
  const pacer = new Pacer(
    [
      { ...phase, name: 'first' },
      { ...phase, name: 'second' },
    ],
    [flow],
  );
  const ends: PhaseEnd[] = [];
  const note = (now: number, owed: number, inFlight = 0) => noteEnds(ends, pacer, now, { owed, inFlight });
  note(1.9, 5);
  assert.deepEqual(ends, []);
  note(2.1, 3);
  note(3, 7);
  assert.deepEqual(ends, [{ backlog: 3, drained: null }]);
  note(4, 4);
  note(4.5, 0, 1);
  assert.deepEqual(ends[1], { backlog: 4, drained: null }, 'a request is under way');
  note(5, 0);
  note(9, 0);
  assert.deepEqual(ends, [
    { backlog: 3, drained: null },
    { backlog: 4, drained: 1 },
  ]);
});

/** A run of the closed model whose clock jumps to the end of each phase. */
function closed(drain: number | undefined) {
  const phase = { duration: 1, rate: 0, rampTo: 0, measured: true, ...(drain !== undefined && { drain }) };
  const taken = new Taken(
    [
      { ...phase, name: 'one', vus: 1 },
      { ...phase, name: 'three', vus: 3 },
    ],
    [flow],
  );
  const ledger = { owed: 0, inFlight: 0 };
  const told: string[] = [];
  let now = 0;
  const leader = new Leader(
    taken,
    ledger,
    () => now,
    (one: Told) => {
      if (one.tell === 'turn') told.push(`${one.turn.phase}: ${one.turn.vus}`);
      else told.push(one.tell);
      if (one.tell === 'turn' && one.turn.vus > 0) {
        now++;
        ledger.owed = 2;
      } else {
        // What was under way comes to its end a quarter of a second later.
        now += 0.25;
        ledger.owed = 0;
        setImmediate(() => leader.idle());
      }
    },
  );
  return { taken, told, leader };
}

test('closed model: a phase that drains is followed by the next one when everything has arrived', async () => {
  const { taken, told, leader } = closed(60);
  await leader.lead();
  assert.deepEqual(told, ['0: 1', '0: 0', '1: 3', '1: 0', 'over']);
  assert.deepEqual(leader.ends, [
    { backlog: 2, drained: 0.25 },
    { backlog: 2, drained: 0.25 },
  ]);
  assert.deepEqual(
    [taken.span(0, 9), taken.span(1, 9)],
    [
      { start: 0, length: 1 },
      { start: 1.25, length: 1 },
    ],
  );
  assert.ok(taken.over());
});

test('closed model: a phase that does not drain is followed by the next one at once', async () => {
  const { taken, told, leader } = closed(undefined);
  await leader.lead();
  assert.deepEqual(told, ['0: 1', '1: 3', 'over']);
  assert.deepEqual(leader.ends, [
    { backlog: 2, drained: null },
    { backlog: 2, drained: null },
  ]);
  assert.equal(taken.span(1, 9)?.start, 1);
});
