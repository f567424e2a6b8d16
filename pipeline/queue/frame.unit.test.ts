import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeFrame, encodeFrame, packFrames, unpackFrames } from './frame.ts';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

const frames: [name: string, target: string, stamps: string, body: string, trace?: string][] = [
  ['non-ASCII text with line breaks', 'user/17', '1763700000123456,35', '{"text":"ä \u2028\n\\n"}\n'],
  ['no stamps', 'a', '', '{}'],
  ['an empty body', 'a', '1,2', ''],
  ['a trace', 'a', '1763700000123456,35', '{}', PARENT],
  ['a trace and its state', 'a', '1763700000123456,-35', '{}', `${PARENT} a=1, b=2 3`],
  ['a trace and no stamps', 'a', '', '{}', PARENT],
];
for (const [name, target, stamps, body, trace = ''] of frames) {
  test(`decodeFrame returns what encodeFrame was given: ${name}`, () => {
    const frame = encodeFrame({ target, stamps, trace, body });
    const decoded = decodeFrame(Buffer.from(frame));
    assert.deepEqual(decoded, { target, stamps, trace, body: Buffer.from(body) });
  });
}

test('a frame without a trace has no trace field', () => {
  assert.equal(encodeFrame({ target: 'a', stamps: '1,2', trace: '', body: '{}' }), 'a\n1,2\n{}');
});

test('unpackFrames returns what packFrames was given, whatever the number and size of frames', () => {
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
  test(`not a frame: ${JSON.stringify(bytes)}`, () => {
    assert.throws(() => decodeFrame(Buffer.from(bytes)), /^RangeError: the frame has no/);
  });
}
