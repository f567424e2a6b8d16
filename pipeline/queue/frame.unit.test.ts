import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeFrame, encodeFrame, packFrames, unpackFrames } from './frame.ts';

const frames: [name: string, target: string, stamps: string, body: string][] = [
  ['text beyond ASCII, lines in it', 'user/17', '1763700000123456,35', '{"text":"ä \u2028\n\\n"}\n'],
  ['no stamps', 'a', '', '{}'],
  ['an empty body', 'a', '1,2', ''],
];
for (const [name, target, stamps, body] of frames) {
  test(`a frame, there and back: ${name}`, () => {
    const frame = encodeFrame({ target, stamps, body });
    const decoded = decodeFrame(Buffer.from(frame));
    assert.deepEqual(decoded, { target, stamps, body: Buffer.from(body) });
  });
}

test('frames in one value, there and back, however many and long they are', () => {
  const sizes = [10, 70_000, 3, ...Array.from({ length: 150 }, (_, i) => i)];
  const many = sizes.map((size, i) => ({
    target: `a/${i}`,
    stamps: '1,2',
    body: `{"t":"${'ü'.repeat(size)}"}`,
  }));
  const packs = packFrames(many);
  const unpacked = packs.map((pack) => unpackFrames(Buffer.from(pack)));
  assert.deepEqual(
    unpacked.flat().map((frame) => frame.toString()),
    many.map(encodeFrame),
  );
  assert.ok(packs.length >= 4 && packs.length < 10, `${packs.length} entries`);
  for (const [i, pack] of packs.entries()) {
    const count = unpacked[i]?.length ?? 0;
    assert.ok(count === 1 || (count <= 64 && pack.length <= 65_536));
  }
});

for (const bytes of ['', 'a', 'a\n', 'a\n1,2', '\n1,2\n{}']) {
  test(`no frame: ${JSON.stringify(bytes)}`, () => {
    assert.throws(() => decodeFrame(Buffer.from(bytes)), /^RangeError: the frame has no/);
  });
}
