import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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

const targets = fc
  .string({ unit: 'grapheme', minLength: 1 })
  .filter((text) => !text.includes('\n') && !text.includes('\u001e'));
const stamps = fc.oneof(
  fc.constant(''),
  fc
    .tuple(
      fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: -(10 ** 14), max: 10 ** 14 }),
    )
    .map(([first, next]) => `${first},${next}`),
);
const states = fc.string({ unit: fc.constantFrom('a', '=', ',', ' ', '1'), minLength: 1, maxLength: 512 });
const traces = fc.oneof(
  fc.constant(''),
  fc.constant(PARENT),
  states.map((state) => `${PARENT} ${state}`),
);
const anyMessage = fc.record(
  { target: targets, stamps, trace: traces, body: fc.json() },
  { noNullPrototype: true },
);

test('decodeFrame returns what encodeFrame was given, whatever it is', () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      const decoded = decodeFrame(Buffer.from(encodeFrame(message)));
      assert.deepEqual({ ...decoded, body: String(decoded.body) }, message);
    }),
  );
});

test('unpackFrames returns what packFrames was given, in entries within their limits', () => {
  const many = fc.array(fc.tuple(anyMessage, fc.constantFrom(0, 0, 0, 1000, 40_000, 70_000)), {
    minLength: 1,
    maxLength: 150,
  });
  fc.assert(
    fc.property(many, (all) => {
      const messages = all.map(([message, size]) => ({
        ...message,
        body: `{"n":${message.body},"t":"${'ü'.repeat(size)}"}`,
      }));
      const packs = packFrames(messages);
      const unpacked = packs.map((pack) => unpackFrames(Buffer.from(pack)));
      assert.deepEqual(unpacked.flat().map(String), messages.map(encodeFrame));
      for (const [i, pack] of packs.entries()) {
        const count = unpacked[i]?.length ?? 0;
        assert.ok(count === 1 || (count <= 64 && pack.length <= 65_536));
      }
    }),
    { numRuns: 30 },
  );
});

test('bytes are a frame or no frame, and decodeFrame never fails otherwise', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const frame = Buffer.from(bytes);
      try {
        const { target, stamps, trace, body } = decodeFrame(frame);
        assert.ok(target.length > 0);
        const length = Buffer.byteLength(trace, 'latin1') + Buffer.byteLength(stamps, 'latin1') + body.length;
        assert.ok(length < frame.length);
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
    }),
  );
});
