/** Parts of the queue that need no server: keys, scripts, the words for errors, the size of a claim. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandAt, scripts } from './commands.ts';
import { EntrySize } from './entry-size.ts';
import { shardOf } from './keys.ts';
import { explainRedis } from './problems.ts';

// Two versions share a queue during an update: with another hash the messages of a target would be in two shards.
test('the shard of a target is the same in every version and language', () => {
  const file = join(import.meta.dirname, '../../reports/contract/shard.vectors.json');
  const vectors: [target: string, shards: number, shard: number][] = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(vectors.length > 0);
  for (const [target, shards, shard] of vectors) assert.equal(shardOf(target, shards), shard, target);
});

test('targets are spread evenly', () => {
  const shards = Array.from({ length: 10_000 }, (_, i) => shardOf(`user/${i}`, 8));
  for (let shard = 0; shard < 8; shard++) {
    const count = shards.filter((one) => one === shard).length;
    assert.ok(count > 1000 && count < 1500, `${count} of 10,000 in shard ${shard}`);
  }
});

const files = readdirSync(join(import.meta.dirname, 'lua'));

test('each Lua file is a command', () => {
  assert.equal(Object.keys(scripts).length, files.length);
});

for (const [name, { lua, numberOfKeys }] of Object.entries(scripts)) {
  test(`the head of ${name} has its contract: each key, the arguments, what it returns, and what it never does`, () => {
    const head = lua
      .split('\n')
      .filter((line) => line.startsWith('-- '))
      .join('\n');
    const keysOf = (text: string) => [
      ...new Set([...text.matchAll(/KEYS\[(\d)\]/g)].map(([, key]) => Number(key))),
    ];
    const keys = Array.from({ length: numberOfKeys }, (_, n) => n + 1);
    assert.deepEqual([keysOf(head).toSorted(), keysOf(lua).toSorted()], [keys, keys]);
    for (const word of ['ARGV ', 'returns ', 'never ']) assert.ok(head.includes(`\n-- ${word}`), word);
  });
}

test('the command in a line of a script is found by the hash of the script', () => {
  const { lua } = scripts.joinGroup;
  const hash = createHash('sha1').update(lua).digest('hex');
  const line = lua.split('\n').findIndex((text) => text.includes("'XGROUP'"));
  assert.equal(commandAt(hash, line + 1), 'XGROUP');
  assert.equal(commandAt(hash, 1), undefined);
  assert.equal(commandAt('0'.repeat(40), line + 1), undefined);
});

const problems: [error: string, says: RegExp][] = [
  [
    "OOM command not allowed when used memory > 'maxmemory'. script: x, on @user_script:8.",
    /is full.*\(OOM\)$/,
  ],
  ["READONLY You can't write against a read only replica.", /read-only replica/],
  ["NOPERM User relay has no permissions to run the 'xadd' command", /ACL of this user.*'xadd' command/],
  ["NOGROUP No such key 'arrival:messages' or consumer group", /consumer group is gone/],
  ['UNBLOCKED the stream key no longer exists', /has lost its data \(UNBLOCKED\)$/],
  // Regression: a failover was reported as a loss of data.
  [
    'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
    /is a replica now \(UNBLOCKED\)$/,
  ],
  ['LOADING Redis is loading the dataset in memory', /still loading/],
  ['connect ECONNREFUSED 127.0.0.1:1', /^connect ECONNREFUSED/],
  [
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
    /^the connection to Redis broke/,
  ],
  ["Stream isn't writeable and enableOfflineQueue options is false", /^there is no connection to Redis$/],
  ['ERR max number of clients reached', /maxclients/],
  ['Command timed out', /^Redis did not answer in time$/],
  ['ERR unknown command', /^ERR unknown command$/],
  // Regression: it advised Node's options, which nobody can set here.
  [
    'self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
    /^self-signed certificate \(TLS_CA: /,
  ],
];
for (const [error, says] of problems) {
  test(`explained: ${error.slice(0, 24)}`, () => assert.match(explainRedis(new Error(error)), says));
}

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
