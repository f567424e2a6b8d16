import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openQueue } from '../queue/open.ts';
import { type Claim, type Entry, messagesOf } from '../queue/queue.ts';
import { claimed } from '../test/entries.ts';
import { eventually, startRedis } from '../test/services.ts';
import { Claimer, type ClaimerOptions } from './claimer.ts';
import { Holdings } from './holdings.ts';

const WITHIN_MS = 30_000;
const LEASE_MS = 200;
const COUNT = 20;

let server: Awaited<ReturnType<typeof startRedis>>;
before(async () => {
  server = await startRedis();
});
after(() => server.service.remove());

// Regression: a search for the entries of a lost claim found those that a takeover was just bringing, so they were published twice.
test('an entry of a takeover that a search for a lost claim finds too is taken once', async (t) => {
  const open = async () => {
    const queue = openQueue('stream', { url: server.url, timeoutMs: WITHIN_MS, prefix: 'twice' });
    t.after(() => queue.close());
    await queue.whenReady(WITHIN_MS);
    await queue.join();
    return queue;
  };
  const [queue, dead] = [await open(), await open()];
  for (let n = 0; n < COUNT; n++) await queue.append([{ body: String(n), target: 'a', stamps: '' }]);
  await claimed(dead, 'dead', COUNT);

  const holdings = new Holdings();
  const taken: Entry[] = [];
  const takenOver = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<void>();
  const wanted = Promise.withResolvers<void>();
  let hasFailed = false;
  let search: Promise<Claim> | undefined;
  let searches = 0;
  const slow: ClaimerOptions['queue'] = {
    join: () => queue.join(),
    renew: (...args) => queue.renew(...args),
    async claim(consumer, count) {
      if (hasFailed) return queue.claim(consumer, count);
      // Its connection breaks while another one brings what was taken over.
      await takenOver.promise;
      hasFailed = true;
      failed.resolve();
      throw new Error('Connection is closed.');
    },
    async recover(...args) {
      const claim = await queue.recover(...args);
      if (claim.entries.length === 0) return claim;
      takenOver.resolve();
      await failed.promise;
      // Now it begins to search, unless it waits for the takeover.
      await wanted.promise;
      await new Promise(setImmediate);
      await search;
      return claim;
    },
    recoverUnseen(...args) {
      searches++;
      search = queue.recoverUnseen(...args);
      return search;
    },
  };
  const claimer = new Claimer({
    queue: slow,
    consumer: 'heir',
    leaseMs: LEASE_MS,
    holdings,
    listener: {
      wants: () => {
        if (hasFailed) wanted.resolve();
        return 2 * COUNT;
      },
      onClaim({ entries }) {
        taken.push(...entries);
        holdings.take(entries, 0);
      },
    },
    troubles: { failed: () => {}, done: () => {} },
  });
  claimer.start();
  t.after(() => claimer.close());
  await eventually(() => messagesOf(taken) >= COUNT && searches > 0, 'the messages and a search', WITHIN_MS);
  await queue.append([{ body: 'last', target: 'a', stamps: '' }]);
  await eventually(
    () => taken.some(({ frames }) => String(frames[0]).endsWith('last')),
    'the last',
    WITHIN_MS,
  );
  claimer.close();
  await claimer.ended;
  assert.equal(taken.length, COUNT + 1);
  assert.equal(new Set(taken.map(({ id }) => id)).size, COUNT + 1);
});

// Regression: they stayed with the relay, which did not know of them, until it ended.
test('messages of a takeover whose answer is lost are found again', async (t) => {
  const queue = openQueue('stream', { url: server.url, timeoutMs: WITHIN_MS, prefix: 'lost' });
  t.after(() => queue.close());
  await queue.whenReady(WITHIN_MS);
  await queue.append([{ body: '1', target: 'a', stamps: '' }]);
  await queue.claim('dead', 1);
  const taken: Entry[] = [];
  const holdings = new Holdings();
  let lost = false;
  const claimer = new Claimer({
    queue: {
      join: () => queue.join(),
      renew: (...args) => queue.renew(...args),
      claim: (...args) => queue.claim(...args),
      recoverUnseen: (...args) => queue.recoverUnseen(...args),
      async recover(...args) {
        const claim = await queue.recover(...args);
        if (lost || claim.entries.length === 0) return claim;
        lost = true;
        throw new Error('Connection is closed.');
      },
    },
    consumer: 'heir',
    leaseMs: LEASE_MS,
    holdings,
    listener: {
      wants: () => COUNT,
      onClaim({ entries }) {
        taken.push(...entries);
        holdings.take(entries, 0);
      },
    },
    troubles: { failed: () => {}, done: () => {} },
  });
  claimer.start();
  t.after(() => claimer.close());
  await eventually(() => messagesOf(taken) === 1, 'the message', WITHIN_MS);
  claimer.close();
  await claimer.ended;
});
