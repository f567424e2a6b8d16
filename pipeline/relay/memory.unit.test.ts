/** A relay with a queue that is not in Redis. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLog } from '../common/log.ts';
import { messagesOf } from '../queue/queue.ts';
import { MemoryQueue, MemoryServer } from '../test/memory-queue.ts';
import { eventually } from '../test/services.ts';
import type { Broker } from './broker.ts';
import type { Publication } from './publication.ts';
import { Relay } from './relay.ts';

const WITHIN_MS = 30_000;
const NOT_AUTHORIZED = 0x87;
const QUOTA_EXCEEDED = 0x97;

test('relay and ingest say no word of Redis: their queue does', () => {
  for (const folder of ['relay', 'ingest']) {
    const dir = join(import.meta.dirname, '..', folder);
    const files = readdirSync(dir).filter((name) => /^[a-z-]+\.ts$/.test(name));
    assert.ok(files.length > 5);
    for (const name of files) {
      const text = readFileSync(join(dir, name), 'utf8');
      assert.doesNotMatch(text, /redis/i, `${folder}/${name}`);
    }
  }
});

/** @param refuses a body that the broker takes from nobody */
function relayOf(server: MemoryServer, consumer: string, refuses = '') {
  const published: string[] = [];
  const lines: string[] = [];
  const log = openLog('silent');
  const note = (line: string) => lines.push(line);
  Object.assign(log, { info: note, warn: note });
  const broker = {
    up: true,
    /** Its answer to messages that it takes from nobody. */
    refusal: NOT_AUTHORIZED,
    reason: '',
    receiveMaximum: 100,
    maximumPacketSize: Number.POSITIVE_INFINITY,
    publish({ payload }: Publication, answered: (reasonCode: number) => void) {
      const body = String(payload);
      published.push(body);
      setImmediate(answered, body === refuses ? this.refusal : 0);
    },
    together: (publish: () => void) => publish(),
    break: () => {},
  };
  const queue = new MemoryQueue(server);
  const relay = new Relay({
    queue,
    broker: broker as unknown as Broker,
    qos: 1,
    now: () => 0,
    consumer,
    log,
    batch: 100,
    window: 100,
    memory: 1e9,
    timeoutMs: WITHIN_MS,
    leaseMs: 100,
    deliveries: 2,
  });
  return { relay, queue, published, broker, lines };
}

const message = (body: string) => ({ body, target: 'a', stamps: '' });

test('a relay drains a queue of another kind, and buries what the broker refuses', async () => {
  const server = new MemoryServer();
  const { relay, queue, published } = relayOf(server, 'one', '"bad"');
  await queue.append(['1', '"bad"', '3'].map(message));
  relay.start();
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue', WITHIN_MS);
  await relay.stop(WITHIN_MS);
  const letters = [];
  for await (const { target, deliveries } of queue.deadLetters.list()) letters.push([target, deliveries]);
  assert.deepEqual(letters, [['a', 2]]);
  assert.deepEqual(
    published.filter((body) => body !== '"bad"'),
    ['1', '3'],
  );
});

test("a relay takes over a dead relay's messages from a queue of another kind", async () => {
  const server = new MemoryServer();
  const dead = new MemoryQueue(server);
  await dead.append(['1', '2'].map(message));
  assert.equal(messagesOf((await dead.claim('dead', 2)).entries), 2);
  const heir = relayOf(server, 'heir');
  heir.relay.start();
  await eventually(() => heir.published.length === 2, 'the same messages', WITHIN_MS);
  await eventually(async () => (await heir.queue.depth()) === 0, 'an empty queue', WITHIN_MS);
  assert.equal(heir.relay.counters.recovered, 2);
  await heir.relay.stop(WITHIN_MS);
});

// Regression: it was a problem until the broker came back, as nothing was claimed meanwhile.
for (const work of ['claim', 'recover'] as const) {
  test(`a ${work} that failed is not a problem while the broker is away`, async (t) => {
    const { relay, queue, broker } = relayOf(new MemoryServer(), 'one');
    queue[work] = () => Promise.reject(new Error('it gives nothing'));
    relay.start();
    t.after(() => relay.stop(0));
    await eventually(() => relay.problems.length === 1, 'a problem', WITHIN_MS);
    broker.up = false;
    assert.deepEqual(relay.problems, []);
  });
}

// Regression: the episode had no end, and the next one no begin.
test('the broker refuses nothing any more when another relay has the message', async (t) => {
  const { relay, queue, broker, lines } = relayOf(new MemoryServer(), 'one', '"bad"');
  broker.refusal = QUOTA_EXCEEDED;
  await queue.append([message('"bad"')]);
  relay.start();
  t.after(() => relay.stop(0));
  await eventually(() => relay.problems.length === 1, 'a refusal', WITHIN_MS);
  broker.up = false;
  const ids = relay.held.map(({ entry }) => entry.id);
  assert.deepEqual(relay.giveUp(ids), ids);
  assert.match(lines.at(-1) ?? '', /takes messages again/);
});

// Regression: a shard that failed shortly before an outage of the broker counted as unread all through it.
test('the time in which a relay claims nothing says nothing of its shards', (t) => {
  const { relay, queue, lines } = relayOf(new MemoryServer(), 'one');
  let now = 10_000;
  t.mock.method(performance, 'now', () => now);
  Object.defineProperty(queue, 'problem', { value: { problem: 'shard 1: away', kind: 'shared' } });
  const claimAfter = (ms: number) => {
    now += ms;
    relay.onClaim({ entries: [], deleted: 0 });
  };
  for (const ms of [0, 1000, 5000, 1000, 1000, 1000]) claimAfter(ms);
  assert.deepEqual(lines, []);
  claimAfter(1000);
  assert.deepEqual(lines, ['shard 1: away']);
});
