import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from './readiness.ts';
import { Trouble } from './trouble.ts';

const AWAY: Problem = { problem: 'connect ECONNREFUSED', kind: 'shared' };
const DENIED: Problem = { problem: 'NOPERM', kind: 'misconfigured' };

function observed() {
  const lines: string[] = [];
  let now = 0;
  const log = { warn: (line: string) => lines.push(line), info: (line: string) => lines.push(line) };
  const trouble = new Trouble(log as never, 'messages are taken again', () => now);
  return { lines, trouble, pass: (ms: number) => (now += ms) };
}

// Regression: the second episode of a broker that refused all for a while was in no log.
test('each episode has a line at its begin and one at its end', () => {
  const { lines, trouble, pass } = observed();
  for (let episode = 0; episode < 2; episode++) {
    for (let n = 0; n < 3; n++) trouble.begin(AWAY);
    pass(2500);
    trouble.end();
    trouble.end();
  }
  const once = ['connect ECONNREFUSED', 'messages are taken again, after 2.5 s'];
  assert.deepEqual(lines, [...once, ...once]);
});

// Regression: 430 lines in 8 s, as shards of one node failed in turn with those that did not.
test('shards that fail are one episode, which ends with the last of them', () => {
  const { lines, trouble } = observed();
  trouble.begin(AWAY, { name: 'shard 1' });
  trouble.begin(AWAY, { name: 'shard 4' });
  assert.deepEqual(trouble.problem, { problem: 'shard 1, shard 4: connect ECONNREFUSED', kind: 'shared' });
  trouble.end('shard 1');
  trouble.end('shard 2');
  assert.deepEqual(lines, ['shard 1: connect ECONNREFUSED']);
  trouble.end('shard 4');
  assert.equal(lines.length, 2);
  assert.equal(trouble.problem, undefined);
});

test('a setting that somebody has to change is said beside what passes', () => {
  const { lines, trouble } = observed();
  trouble.begin(AWAY);
  trouble.begin({ ...AWAY, problem: 'Socket timeout' });
  trouble.begin(DENIED);
  assert.deepEqual(lines, ['connect ECONNREFUSED', 'NOPERM']);
  assert.deepEqual(trouble.problem, DENIED);
});

test('what passes before its time is up is in no log, and at /readyz', () => {
  const { lines, trouble, pass } = observed();
  trouble.begin(AWAY, { afterMs: 500 });
  assert.deepEqual(trouble.problem, AWAY);
  trouble.end();
  trouble.begin(AWAY, { afterMs: 500 });
  pass(500);
  assert.deepEqual(lines, []);
  trouble.begin(AWAY, { afterMs: 500 });
  assert.deepEqual(lines, ['connect ECONNREFUSED']);
});

test('trouble that comes and goes all the time does not flood the log', () => {
  const { lines, trouble, pass } = observed();
  for (let n = 0; n < 600; n++) {
    trouble.begin(AWAY);
    trouble.end();
    pass(100);
  }
  assert.equal(lines.length, 20);
  trouble.begin(AWAY);
  assert.equal(lines.length, 21, 'the next minute');
});
