/** What each kind of queue keeps to. Relay and ingest rely on nothing else. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { PROBLEM_KINDS } from '../common/readiness.ts';
import { startCluster } from '../test/cluster.ts';
import { claimed, framesOf, idsOf } from '../test/entries.ts';
import { MemoryQueue, MemoryServer } from '../test/memory-queue.ts';
import { eventually, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import { type DeadLetter, type Entry, type MessageQueue, messagesOf, type QueueKind } from './queue.ts';

const WITHIN_MS = 60_000;
/** A command times out after so many ms. A timer of ioredis' cluster client outlives the client by as much. */
const TIMEOUT_MS = 10_000;
const LEASE_MS = 3000;

type Role = 'ingest' | 'relay' | 'operator';

/** A queue that several processes use. */
interface Place {
  /** Two relays read so many of its parts each. */
  half: number;
  /** What a process opens. */
  open(role: Role): MessageQueue;
  clear(): Promise<unknown>;
  remove(): Promise<unknown>;
}

/** Makes a queue in a Redis of its own, with the rights that the stack gives each role. */
async function inRedis(kind: QueueKind, shards = 1): Promise<Place> {
  const { url, as, service } = await startRedis();
  const redis = new Redis(url);
  return {
    half: Math.max(1, shards / 2),
    open: (role) => openQueue(kind, { url: as(role), timeoutMs: TIMEOUT_MS, shards, leaseMs: LEASE_MS }),
    clear: () => redis.flushall(),
    async remove() {
      redis.disconnect();
      await service.remove();
    },
  };
}

async function inCluster(shards: number): Promise<Place> {
  const { url, nodes, remove } = await startCluster();
  return {
    half: shards / 2,
    open: (role) => openQueue('stream', { url: url(role), timeoutMs: TIMEOUT_MS, shards, leaseMs: LEASE_MS }),
    clear: () => Promise.all(nodes.map((node) => node.flushall())),
    remove,
  };
}

async function inMemory(): Promise<Place> {
  let server = new MemoryServer();
  return {
    half: 1,
    open: () => new MemoryQueue(server),
    async clear() {
      server = new MemoryServer();
    },
    async remove() {},
  };
}

/** The kinds. The toy takes a file and a line here. */
const PLACES: Record<string, () => Promise<Place>> = {
  stream: () => inRedis('stream'),
  'stream in shards': () => inRedis('stream', 4),
  'stream in shards of a Redis Cluster': () => inCluster(4),
  list: () => inRedis('list'),
  'a toy in memory': inMemory,
};

const TARGETS = Array.from({ length: 20 }, (_, i) => `user/${i}`);
const messages = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    body: JSON.stringify({ id: `${from + i}`, text: 'ä \u2028 \\u001e "' }),
    target: TARGETS[(from + i) % TARGETS.length] as string,
    stamps: '1763700000123456,3',
    trace: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 a=b',
  }));
const sorted = (ids: readonly string[]) => ids.toSorted((a, b) => Number(a) - Number(b));
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i));

// They wait for leases; each kind has a server of its own.
suite('queues', { concurrency: Object.keys(PLACES).length }, () => {
  for (const [name, start] of Object.entries(PLACES))
    suite(name, { concurrency: 1 }, () => contractOf(start));
});

function contractOf(start: () => Promise<Place>): void {
  let place: Place;
  before(async () => {
    place = await start();
  });
  after(() => place.remove());
  beforeEach(() => place.clear());

  async function open(t: TestContext, role: Role = 'relay'): Promise<MessageQueue> {
    const queue = place.open(role);
    t.after(() => queue.close());
    await queue.whenReady(WITHIN_MS);
    // A client of a cluster connects to a node when it needs it, and rejects the command.
    const asks = {
      ingest: () => queue.depth(),
      relay: () => queue.join(),
      operator: () => queue.deadLetters.count(),
    };
    const answers = () =>
      asks[role]().then(
        () => true,
        () => false,
      );
    await eventually(answers, 'all parts of the queue');
    return queue;
  }
  /** Claims `count` messages, and gets no more. */
  async function claimedOnce(queue: MessageQueue, consumer: string, count: number): Promise<Entry[]> {
    const all = await claimed(queue, consumer, count);
    assert.equal(messagesOf(all), count);
    return all;
  }
  /** Appends each message in a write of its own. */
  async function appendEach(queue: MessageQueue, from: number, to: number): Promise<void> {
    for (const message of messages(from, to)) await queue.append([message]);
  }

  test('messages are claimed as they were appended, once, in the order of each target, and leave the queue', async (t) => {
    const [ingest, relay] = [await open(t, 'ingest'), await open(t)];
    assert.equal(await ingest.append(messages(0, 40)), 40);
    assert.equal(await ingest.append(messages(40, 100)), 100);
    assert.equal(await ingest.depth(), 100);
    const entries = await claimedOnce(relay, 'one', 100);
    assert.deepEqual(sorted(idsOf(entries)), numbers(0, 100));
    for (const target of TARGETS) {
      const own = framesOf(entries).filter((frame) => frame.target === target);
      const expected = messages(0, 100).filter((message) => message.target === target);
      assert.deepEqual(
        own.map((frame) => ({ ...frame, body: String(frame.body) })),
        expected,
      );
    }
    assert.ok(
      entries.every(
        ({ deliveries, suspect, recovered = false }) => deliveries === 1 && !suspect && !recovered,
      ),
    );
    assert.equal(await ingest.depth(), relay.keeps ? 100 : 0);
    await relay.acknowledge(entries);
    // A relay repeats what got no answer.
    await relay.acknowledge(entries);
    assert.equal(await ingest.depth(), 0);
  });

  test('relays share the messages', async (t) => {
    const [ingest, one, two] = [await open(t, 'ingest'), await open(t), await open(t)];
    await reading(one, two);
    await appendEach(ingest, 0, 60);
    const all: Entry[] = [];
    await eventually(async () => {
      const claims = await Promise.all([one.claim('one', 10), two.claim('two', 10)]);
      all.push(...claims.flatMap(({ entries }) => entries));
      return messagesOf(all) >= 60;
    }, '60 messages');
    assert.deepEqual(sorted(idsOf(all)), numbers(0, 60));
  });

  /**
   * Claims as two relays until each reads its half of an empty queue. Before that a relay may still give parts away, and reads
   * nothing more of one from which it holds messages.
   */
  async function reading(one: MessageQueue, two: MessageQueue): Promise<void> {
    await eventually(async () => {
      await Promise.all([one.claim('one', 1), two.claim('two', 1)]);
      return one.shards === place.half && two.shards === place.half;
    }, 'a part for each relay');
  }

  test('a claim waits for messages, and can be interrupted', async (t) => {
    const [ingest, relay] = [await open(t, 'ingest'), await open(t)];
    const waiting = relay.claim('one', 1);
    await ingest.append(messages(0, 1));
    const entries = (await waiting).entries;
    if (entries.length === 0) entries.push(...(await claimedOnce(relay, 'one', 1)));
    assert.deepEqual(idsOf(entries), ['0']);
    const idle = relay.claim('one', 1);
    await relay.interrupt();
    assert.deepEqual((await idle).entries, []);
  });

  test('a dead letter is listed, goes back unchanged, or is dropped', async (t) => {
    const [ingest, relay, operator] = [await open(t, 'ingest'), await open(t), await open(t, 'operator')];
    await appendEach(ingest, 0, 2);
    for (const entry of await claimedOnce(relay, 'one', 2)) await relay.bury(entry, 5, 'nobody takes it');
    assert.equal(await relay.depth(), 0);
    const letters: DeadLetter[] = [];
    for await (const letter of operator.deadLetters.list()) letters.push(letter);
    letters.sort((a, b) => Number(a.id) - Number(b.id));
    assert.deepEqual(
      letters.map(({ id, target, reason, deliveries }) => [id, target, reason, deliveries]),
      [
        ['0', TARGETS[0], 'nobody takes it', 5],
        ['1', TARGETS[1], 'nobody takes it', 5],
      ],
    );
    const [back, dropped] = letters.map(({ letter }) => letter) as [string, string];
    assert.deepEqual(await operator.deadLetters.requeue([back, '1-1']), [back]);
    assert.deepEqual(await operator.deadLetters.drop([dropped, back]), [dropped]);
    assert.deepEqual([await operator.deadLetters.count(), await relay.depth()], [0, 1]);
    const again = await claimedOnce(relay, 'one', 1);
    assert.deepEqual([idsOf(again), again[0]?.deliveries], [['0'], 1]);
  });

  test('a message of several gets an entry of its own, once', async (t) => {
    const [ingest, relay] = [await open(t, 'ingest'), await open(t)];
    // One target, so that they are together.
    const together = messages(0, 3).map((message) => ({ ...message, target: 'a' }));
    await ingest.append(together);
    const entries = await claimedOnce(relay, 'one', 3);
    if (!relay.keeps) {
      assert.ok(
        entries.every(({ frames }) => frames.length === 1),
        'goodbye.ts divides no entry of such a queue',
      );
      return;
    }
    const [entry] = entries as [Entry];
    const bad = {
      frame: entry.frames[1] as Buffer,
      deliveries: 4,
      suspect: true,
      reason: 'nobody takes it',
    };
    await relay.split(entry, [bad], true);
    await relay.acknowledge([entry]);
    assert.equal(await relay.depth(), 1);
    const [alone] = (await claimedOnce(relay, 'one', 1)) as [Entry];
    const { deliveries, suspect, reason } = alone;
    assert.deepEqual([idsOf([alone]), deliveries, suspect, reason], [['1'], 4, true, 'nobody takes it']);
    await relay.split(alone, [bad], false);
    // Whoever got no answer asks again.
    await relay.split(alone, [bad], false);
    assert.equal(await relay.depth(), 1);
    const [last] = (await claimedOnce(relay, 'one', 1)) as [Entry];
    await relay.bury(last, 5, 'nobody took it');
    await relay.bury(last, 5, 'nobody took it');
    assert.deepEqual([await relay.depth(), await relay.deadLetters.count()], [0, 1]);
  });

  test('what a dead relay held is taken over, what a living one renews is not', async (t) => {
    const ingest = await open(t, 'ingest');
    const [alive, dead, heir, next] = [await open(t), await open(t), await open(t), await open(t)];
    await reading(alive, dead);
    await appendEach(ingest, 0, 40);
    const held: Record<'alive' | 'dead', Entry[]> = { alive: [], dead: [] };
    // Each at its own pace: a relay whose shards are empty waits for a second in each claim.
    const take = (relay: MessageQueue, consumer: string, own: Entry[]) =>
      eventually(
        async () => {
          const all = () => messagesOf(held.alive) + messagesOf(held.dead) >= 40;
          if (!all()) own.push(...(await relay.claim(consumer, 1)).entries);
          return all();
        },
        'all messages',
        WITHIN_MS,
      );
    await Promise.all([take(alive, 'one', held.alive), take(dead, 'two', held.dead)]);
    const wanted = idsOf(held.dead);
    assert.ok(wanted.length > 0 && wanted.length < 40, `${wanted.length} of 40`);
    dead.close();
    if (!alive.keeps) {
      assert.deepEqual((await heir.recover('three', 0, 40)).entries, []);
      return;
    }
    /** Takes over as `relay`, while the living one renews. */
    const inherit = async (relay: MessageQueue, consumer: string) => {
      const taken: Entry[] = [];
      await eventually(
        async () => {
          await alive.renew(
            'one',
            held.alive.map(({ id }) => id),
          );
          const claims = await Promise.all([
            relay.claim(consumer, 40),
            relay.recover(consumer, LEASE_MS, 40),
            alive.claim('one', 1),
          ]);
          taken.push(...claims[0].entries, ...claims[1].entries);
          held.alive.push(...claims[2].entries);
          return messagesOf(taken) >= wanted.length;
        },
        "the dead relay's messages",
        WITHIN_MS,
      );
      assert.deepEqual(sorted(idsOf(taken)), sorted(wanted));
      return taken;
    };
    const first = await inherit(heir, 'three');
    for (const { deliveries, suspect, recovered } of first)
      assert.deepEqual([deliveries, suspect, recovered], [2, false, true]);
    const [one] = first as [Entry];
    if (one.frames.length === 1) await heir.attempt('three', one.id, 4);
    heir.close();
    const second = await inherit(next, 'four');
    assert.ok(second.every(({ suspect, recovered }) => suspect && recovered));
    assert.equal(Math.max(...second.map(({ deliveries }) => deliveries)), 4);
  });

  test('a relay that signs off leaves what it holds to others', async (t) => {
    const [ingest, relay, heir] = [await open(t, 'ingest'), await open(t), await open(t)];
    await appendEach(ingest, 0, 10);
    const held = await claimedOnce(relay, 'one', 10);
    let back = 0;
    await relay.interrupt();
    await relay.signOff('one', held, (entries, how) => {
      if (how === 'back') back += messagesOf(entries);
    });
    assert.equal(back, relay.keeps ? 0 : 10);
    assert.equal(await heir.depth(), 10);
    relay.close();
    const bodies = new Set<string>();
    await eventually(async () => {
      const claims = [await heir.claim('two', 10), await heir.recover('two', LEASE_MS, 10)];
      for (const id of claims.flatMap(({ entries }) => idsOf(entries))) bodies.add(id);
      return bodies.size === 10;
    }, 'the messages of the relay that ended');
  });

  test('a queue that is away says so, and why a command was rejected', async (t) => {
    const queue = await open(t, 'ingest');
    assert.equal(queue.away, undefined);
    queue.close();
    await eventually(() => queue.away !== undefined, 'the end');
    const error = await queue.append(messages(0, 1)).then(
      () => assert.fail('it took a message'),
      (error: Error) => error,
    );
    assert.ok(queue.isDisconnection(error), error.message);
    const { problem, kind } = queue.explain(error);
    assert.ok(problem.length > 0 && !problem.includes('\n') && PROBLEM_KINDS.includes(kind), problem);
  });
}
