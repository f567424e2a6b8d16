import assert from 'node:assert/strict';
import { test } from 'node:test';
import vectors from '../../reports/contract/hops.vectors.json' with { type: 'json' };
import { formatDeltas, formatStamps, parseHops, readQueued } from './hops.ts';

for (const vector of vectors) {
  if (vector.error) {
    test(`hops refused: ${vector.name}`, () => {
      assert.throws(() => parseHops(vector.hops), RangeError);
    });
  } else {
    test(`hops there and back: ${vector.name}`, () => {
      const { name: _, hops, ...stamps } = vector;
      assert.deepEqual(parseHops(hops), stamps);
      const { received, queued, claimed, published } = parseHops(hops);
      assert.equal(formatStamps(received, queued) + formatDeltas(queued, claimed, published), hops);
    });
  }
}

test('stamps of a stream entry, there and back', () => {
  const text = formatStamps(1763700000123456, 1763700000123491);
  assert.equal(text, '1763700000123456,35');
  const read = (bytes: string) => readQueued(Buffer.from(bytes), 0, bytes.length);
  assert.equal(read(text), 1763700000123491);
  assert.throws(() => read('1763700000123456'), /is not 2 comma-separated integers/);
});
