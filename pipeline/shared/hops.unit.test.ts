import assert from 'node:assert/strict';
import { test } from 'node:test';
import vectors from '../../reports/contract/hops.vectors.json' with { type: 'json' };
import { formatDeltas, formatStamps, readQueued } from './hops.ts';

const queuedOf = (stamps: string) => readQueued(Buffer.from(stamps), 0, Buffer.byteLength(stamps));

for (const { name, hops, stamps: marks = [] } of vectors) {
  const [received = 0, queued = 0, claimed = 0, published = 0] = marks;
  if (marks.length !== 4) continue; // only Go reads the stamps of other pipelines, and refuses some
  test(`ingest and relay write hops: ${name}`, () => {
    const stamps = formatStamps(received, queued);
    assert.equal(stamps + formatDeltas(queued, claimed, published), hops);
    assert.equal(queuedOf(stamps), queued);
  });
}

test('the stamps of a stream entry can be read back', () => {
  const text = formatStamps(1763700000123456, 1763700000123491);
  assert.equal(text, '1763700000123456,35');
  assert.equal(queuedOf(text), 1763700000123491);
});

for (const text of [
  '1763700000123456',
  '',
  ',35',
  '1763700000123456,',
  '1763700000123456,35,1',
  '1e3,35',
  ' 1,2',
  '1,+2',
  '12345678901234567,1',
]) {
  test(`invalid stamps are refused: "${text}"`, () => {
    assert.throws(() => queuedOf(text), /is not 2 comma-separated integers/);
  });
}
