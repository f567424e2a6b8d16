import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, numberOf, topicsOf } from '../messages.ts';
import { Pacer } from '../pacer.ts';

const flows = [
  { name: 'room', weight: 1, target: 'room', targets: 3, messages: 1, deliveries: 2, payloadBytes: 4 },
  { name: 'batch', weight: 1, target: 'user', targets: 2, messages: 3, deliveries: 1, payloadBytes: 0 },
];
const pacer = new Pacer([{ name: 'all', duration: 10, rate: 1, rampTo: 1, measured: true }], flows);

test('ids are dense over all flows, and are found again', () => {
  const seen: number[] = [];
  for (let n = 0; n < pacer.requests; n++) {
    const slot = pacer.slot(n);
    const flow = flows[slot.flow] as (typeof flows)[number];
    const body = bodyOf('run', 'meta.id', flow, slot);
    for (const message of [body].flat()) {
      seen.push(numberOf(Buffer.from(JSON.stringify(message)), 'run.1') as number);
    }
  }
  assert.deepEqual(
    seen,
    Array.from({ length: pacer.messages(pacer.requests) }, (_, i) => i),
  );
});

test('a message has id, source and target, and what the script says beside them', () => {
  const slot = pacer.slot(2);
  const body = bodyOf('run', 'meta.id', flows[0] as (typeof flows)[number], slot, {
    payload: 'mine',
    target: 'no',
  });
  const { firstSeq } = slot;
  assert.deepEqual(body, {
    payload: 'mine',
    meta: { id: `run.1.${firstSeq}` },
    source: 'artillery',
    target: 'room/1',
  });
});

test('what has no id of the run has no number', () => {
  for (const text of ['', '{"id":"other.1.4"}', '{"id":"run.1.x"}', '{"id":"run.1.4', '{"id":"xrun.1.4"}']) {
    assert.equal(numberOf(Buffer.from(text), 'run.1'), undefined, text);
  }
  assert.equal(numberOf(Buffer.from('{"id":"run.1.0"}'), 'run.1'), 0);
});

test('each target is held by as many subscribers as its messages have deliveries', () => {
  const held = topicsOf(pacer, 'messages/');
  assert.equal(held.length, 2);
  const count = (topic: string) => held.filter((topics) => topics.includes(topic)).length;
  assert.deepEqual(['messages/room/0', 'messages/room/2', 'messages/user/1'].map(count), [2, 2, 1]);
});
