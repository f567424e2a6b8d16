import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Outage } from './outage.ts';

function watched() {
  const lines: string[] = [];
  const clock = { ms: 1000 };
  const say = (line: string) => lines.push(line);
  const log = { info: say, warn: say } as unknown as ConstructorParameters<typeof Outage>[0];
  return { outage: new Outage(log, 'the broker', () => clock.ms), lines, clock };
}

// Regression: three or four lines, each with the reason of another attempt.
test('an outage is two lines: the first reason, and its end', () => {
  const { outage, lines, clock } = watched();
  outage.over();
  outage.over();
  outage.away('it closed the connection', false);
  clock.ms += 500;
  outage.away('connect ECONNREFUSED', false);
  clock.ms += 1500;
  outage.away('no connection within 2000 ms', false);
  outage.over();
  assert.deepEqual(lines, [
    'the broker answers',
    'the broker is away: it closed the connection',
    'the broker answers, after 2.0 s',
  ]);
});

test('each outage has its own two lines, also one from the start on', () => {
  const { outage, lines } = watched();
  for (let i = 0; i < 2; i++) {
    outage.away('connect ECONNREFUSED', false);
    outage.over();
  }
  assert.equal(lines.filter((line) => /is away/.test(line)).length, 2);
  assert.equal(lines.length, 4);
});

test('a reason that somebody has to mend is named at once, and once', () => {
  const { outage, lines } = watched();
  outage.away('it closed the connection', false);
  outage.away('it refuses the password', true);
  outage.away('connect ECONNREFUSED', false);
  outage.away('it refuses the password', true);
  assert.deepEqual(lines, [
    'the broker is away: it closed the connection',
    'the broker is away: it refuses the password',
  ]);
});

test('an outage that goes on for another reason says so after a minute', () => {
  const { outage, lines, clock } = watched();
  for (let second = 0; second < 300; second++) {
    outage.away(second === 0 ? 'it closed the connection' : 'connect ECONNREFUSED', false);
    clock.ms += 1000;
  }
  assert.deepEqual(lines, [
    'the broker is away: it closed the connection',
    'the broker is away: connect ECONNREFUSED',
  ]);
});
