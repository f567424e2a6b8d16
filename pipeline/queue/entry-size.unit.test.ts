import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntrySize } from './entry-size.ts';

const MIB = 1_048_576;
/** `count` entries, each with `messages` messages of `bytes` bytes. */
const entries = (count: number, messages: number, bytes: number) =>
  new Array(count).fill({ frames: new Array(messages).fill(Buffer.alloc(bytes)) });

test('a claim asks for as many entries as hold the wanted messages, up to 16 MiB', () => {
  const size = new EntrySize(64);
  assert.equal(size.entriesFor(500), 8, 'each may hold 64 messages, or a large one');
  for (const expected of [16, 32, 63, 125, 250, 500, 500]) {
    size.note(entries(3, 1, 200));
    assert.equal(size.entriesFor(500), expected);
  }
  size.note([...entries(100, 1, 200), ...entries(1, 1, MIB)]);
  assert.equal(size.entriesFor(500), 16);
  size.note(entries(1, 1, 64 * MIB));
  assert.equal(size.entriesFor(500), 1, 'at least one, however large');
  size.note([]);
  assert.equal(size.entriesFor(500), 1);
});

test('shards share the size of a claim', () => {
  const size = new EntrySize(64, 8);
  assert.equal(size.entriesFor(500), 8);
  size.note(entries(1, 1, MIB));
  assert.equal(size.entriesFor(500), 2);
});

// Regression: a third of 16 MiB is a fraction, and a message that was cut there on its way lost a byte.
test('shards share it in whole bytes', () => {
  for (let shards = 1; shards <= 64; shards++) assert.ok(Number.isInteger(new EntrySize(64, shards).limit));
});

test('a claim is smaller after one whose connection broke, and grows again by and by', async () => {
  let now = 0;
  const size = new EntrySize(1, 1, () => now);
  size.note(entries(1, 1, MIB));
  size.note(entries(1, 1, MIB));
  assert.equal(size.entriesFor(500), 16);
  const failed = (message: string) => assert.rejects(size.watch(Promise.reject(new Error(message))));
  await failed('NOPERM no right');
  assert.equal(size.limit, 16 * MIB, 'an answer came');
  await failed('Connection is closed.');
  assert.deepEqual([size.limit, size.entriesFor(500)], [MIB, 1]);
  for (let i = 0; i < 3; i++) await failed('Connection is closed.');
  assert.equal(size.limit, 16_384, 'so much passes in any case');
  size.note(entries(1, 1, 100));
  assert.equal(size.limit, 16_384);
  for (let i = 0; i < 10; i++) {
    now += 60_000;
    size.note(entries(1, 1, 100));
  }
  assert.equal(size.limit, 16 * MIB);
});
