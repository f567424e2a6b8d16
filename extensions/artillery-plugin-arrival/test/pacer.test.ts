import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pacer } from '../pacer.ts';
import vectors from '../pacer.vectors.json' with { type: 'json' };

for (const { name, phases, flows, requests, messages, slots } of vectors) {
  test(`a schedule is that of the Go side: ${name}`, () => {
    const pacer = new Pacer(
      phases.map((phase) => ({ ...phase, measured: true })),
      flows.map((flow) => ({ ...flow, payloadBytes: 0 })),
    );
    assert.equal(pacer.requests, requests);
    assert.equal(pacer.messages(requests), messages);
    for (const { due, ...slot } of slots) {
      const { due: got, ...rest } = pacer.slot(slot.n);
      assert.deepEqual(rest, slot);
      assert.ok(Math.abs(got - due) < 1e-6, `request ${slot.n} is due at ${got} s, not ${due} s`);
      assert.equal(pacer.requestOf(slot.firstSeq + slot.messages - 1), slot.n);
    }
    assert.equal(pacer.dueBefore(1e6), requests);
    const ends = phases.map((_, i) => pacer.phaseRequests(i));
    assert.deepEqual(ends.at(-1)?.[1], requests);
    assert.ok(
      ends.slice(1).every(([from], i) => from === ends[i]?.[1]),
      'phases follow one another',
    );
  });
}
