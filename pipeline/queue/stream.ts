import type { Connection, PendingRow, QueueOptions, RawEntry } from './connection.ts';
import { EntrySize } from './entry-size.ts';
import { bytesOf, ENTRY_FRAMES, type Message, packFrames, unpackFrames } from './frame.ts';
import type { Keys, QueueKeys } from './keys.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, messagesOf, type Part } from './queue.ts';
import { RedisQueue } from './redis-queue.ts';
import { Silence } from './silence.ts';
import type { Store } from './store.ts';
import { Transactions } from './transaction.ts';

const GROUP = 'relays';
/** More than any window of a relay. */
const PENDING_MAX = 100_000;
/** ms between the numbers of two signs of life: Redis reads its clock twice for one look. */
const SIGN_MS = 1000;
/** Deliveries of earlier times (2001) are signs of life. */
const EARLIEST_MS = 1e12;

/** A stream with a consumer group. An entry `frame <frames>` holds messages that were written together. */
export class StreamQueue extends RedisQueue {
  protected readonly kind = 'stream';
  readonly keeps = true;
  protected readonly keys: Keys;
  /** The stream has no shards in this Redis; a shard does not ask. */
  #agreed: boolean;
  readonly #transactions: Transactions;
  /** Entries of others that have not been renewed. */
  readonly #silence = new Silence();
  /** Our signs of life. */
  #signs = 0;
  /** When consumers of relays that are gone are removed again, ms of the monotonic clock. */
  #tidies = 0;
  readonly #size: EntrySize;
  /** The group has been there: if it is not, Redis has lost its data. */
  #joined = false;

  /** @param shard the keys of a shard; undefined: the stream has no shards */
  constructor(options: QueueOptions, store?: Store, shard?: Keys) {
    super(options, store);
    this.keys = shard ?? this.all.whole;
    this.#transactions = new Transactions(this.redis);
    this.#size = new EntrySize(ENTRY_FRAMES, options.shards);
    this.#agreed = shard !== undefined;
  }

  protected override async agree(): Promise<void> {
    await super.agree();
    this.#agreed = true;
  }

  /** Uses a transaction, as a script takes Redis 1.5 times as long. A waiting relay wakes once, with all entries. */
  async append(messages: readonly Message[]): Promise<number> {
    // Redis may have come up after whenReady gave up.
    if (!this.#agreed) await this.agree();
    const { messages: key, depth } = this.keys;
    const results = await this.#transactions.run([
      ...packFrames(messages).map((frames) => ['xadd', key, '*', 'frame', frames]),
      ['incrby', depth, messages.length],
      ['xlen', key],
    ]);
    // The entries decide: they are in the queue, even if somebody else's value in the counter's key refuses to count them.
    const [counted, entries] = results.splice(-2);
    for (const [error] of results) if (error) throw error;
    return Math.max(messages.length, messagesIn(numberIn(entries), numberIn(counted)));
  }

  async depth(): Promise<number> {
    const { messages, depth } = this.keys;
    const [entries, counted] = await Promise.all([this.redis.xlen(messages), this.redis.get(depth)]);
    if (entries > 0) return messagesIn(entries, Number(counted) || 0);
    // Somebody deleted counted entries by hand. The user may lack the right to reset the counter.
    if (Number(counted) !== 0) await this.redis.forgetDepth(messages, depth).catch(() => {});
    return 0;
  }

  async join(): Promise<void> {
    await this.redis.joinGroup(this.keys.messages, GROUP);
    this.#joined = true;
  }

  /** Before a relay's first command to the group: Redis may have come up after the relay. */
  async #enter(): Promise<void> {
    if (!this.#joined) await this.join();
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    if (!this.#agreed) await this.agree();
    await this.#enter();
    const reader = await this.reader();
    const most = ['COUNT', this.#size.entriesFor(count), 'BLOCK', CLAIM_WAIT_MS] as const;
    const from = ['STREAMS', this.keys.messages, '>'] as const;
    const reply = await reader.xreadgroupBuffer('GROUP', GROUP, consumer, ...most, ...from);
    const raw = (reply as [Buffer, RawEntry[]][] | null)?.[0]?.[1] ?? [];
    const entries = raw.map(([id, fields]) => entryOf(id, fields, 1));
    this.#size.note(entries);
    return { entries, deleted: 0 };
  }

  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    await this.#enter();
    const key = this.keys.messages;
    const [ms, rows] = await this.redis.pendingEntries(key, GROUP, PENDING_MAX);
    const others = rows.filter(([, holder]) => holder !== consumer);
    this.#silence.keep(new Set(others.map(([id]) => id)));
    const abandoned = others.flatMap(([id, holder, idle]) =>
      this.#silence.of(id, `${holder} ${signOf(ms - idle)}`) < idleMs ? [] : [[id, holder, idle]],
    );
    const claim: Claim = { entries: [], deleted: 0 };
    let bytes = 0;
    while (abandoned.length > 0 && bytes < this.#size.most) {
      const wanted = count - messagesOf(claim.entries);
      if (wanted <= 0) break;
      const some = abandoned.splice(0, this.#size.entriesFor(wanted));
      const round = this.redis.recoverEntriesBuffer(key, GROUP, consumer, ...some.flat());
      const [taken, deleted] = await round.catch((error) => {
        // Earlier rounds have claimed entries, which nobody else would get before another lease ends.
        if (claim.entries.length + claim.deleted === 0) throw error;
        abandoned.length = 0;
        return [[], 0] as const;
      });
      claim.deleted += deleted;
      const entries = taken.map(([id, fields, counter]) => ({
        ...entryOf(id, fields, Math.max(counter, 2), counter > 1),
        recovered: true,
      }));
      this.#size.note(entries);
      for (const { frames } of entries) bytes += bytesOf(frames);
      claim.entries.push(...entries);
    }
    await this.#tidy(consumer, idleMs);
    return claim;
  }

  /** Removes consumers of relays that are gone, once in a while: each relay has a name of its own. */
  async #tidy(consumer: string, idleMs: number): Promise<void> {
    if (performance.now() < this.#tidies) return;
    this.#tidies = performance.now() + idleMs;
    // They only cost memory, and the entries that were taken over must not be lost with an error.
    await this.redis.tidyConsumers(this.keys.messages, GROUP, consumer, 2 * idleMs).catch(() => {});
  }

  async recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim> {
    await this.#enter();
    const key = this.keys.messages;
    const rows = (await this.redis.xpending(key, GROUP, '-', '+', PENDING_MAX, consumer)) as PendingRow[];
    const unseen = rows.filter(([id]) => !holds(id)).slice(0, this.#size.entriesFor(count));
    return this.#reclaim(consumer, unseen);
  }

  /**
   * Takes over about `count` messages that other consumers hold, and those delivered to us that we never read, oldest first, from
   * entry `from` on (`-`: the first). Only for an owner of the shard. `next` is where to go on; undefined: that was all.
   */
  async inherit(
    consumer: string,
    from: string,
    count: number,
    holds: (id: string) => boolean,
  ): Promise<Claim & { next: string | undefined }> {
    await this.#enter();
    const most = this.#size.entriesFor(count);
    const rows = (await this.redis.xpending(this.keys.messages, GROUP, from, '+', most)) as PendingRow[];
    const unseen = rows.filter(([id]) => !holds(id));
    const last = rows.at(-1)?.[0];
    const next = rows.length < most ? undefined : `(${last}`;
    return { ...(await this.#reclaim(consumer, unseen)), next };
  }

  /**
   * Claims pending entries, and counts as recover.lua does: 2 from the first recovery on. Entries that were delivered to us were
   * not attempted since, so their counter stays.
   */
  async #reclaim(consumer: string, rows: readonly PendingRow[]): Promise<Claim> {
    const others = ([, holder]: PendingRow) => holder !== consumer;
    const deliveries = (row: PendingRow) => (others(row) ? Math.max(row[3], 2) : row[3]);
    const raws = new Map<string, RawEntry>();
    for (const [counter, group] of Map.groupBy(rows, deliveries)) {
      const ids = group.map(([id]) => id);
      const key = this.keys.messages;
      const how = [...this.#sign(), 'RETRYCOUNT', counter] as const;
      const claim = ['XCLAIM', key, GROUP, consumer, 0, ...ids, ...how] as const;
      for (const raw of (await this.redis.callBuffer(...claim)) as RawEntry[])
        raws.set(raw[0].toString(), raw);
    }
    const entries = rows.flatMap((row) => {
      const [id, fields] = raws.get(row[0]) ?? [];
      if (id === undefined || fields === undefined) return [];
      const suspect = row[3] > (others(row) ? 1 : 2);
      return { ...entryOf(id, fields, deliveries(row), suspect), recovered: others(row) || row[3] > 1 };
    });
    this.#size.note(entries);
    return { entries, deleted: rows.length - entries.length };
  }

  async attempt(consumer: string, id: string, deliveries: number): Promise<void> {
    await this.#touch(consumer, [id], 'RETRYCOUNT', deliveries);
  }

  async renew(consumer: string, ids: readonly string[]): Promise<void> {
    await this.#touch(consumer, ids);
  }

  async #touch(consumer: string, ids: readonly string[], ...more: (string | number)[]): Promise<void> {
    const { messages } = this.keys;
    await this.redis.xclaim(messages, GROUP, consumer, 0, ...ids, ...this.#sign(), ...more, 'JUSTID');
  }

  /** A sign of life: another number in place of the time of a delivery, as Redis' clock may step. */
  #sign(): readonly ['TIME', number] {
    return ['TIME', ++this.#signs * SIGN_MS];
  }

  async acknowledge(entries: readonly Pick<Entry, 'id' | 'frames'>[]): Promise<void> {
    const { messages, depth } = this.keys;
    const counted = entries.flatMap(({ id, frames }) => [id, frames.length]);
    await this.redis.acknowledgeEntries(messages, depth, GROUP, ...counted);
  }

  async bury({ id }: Entry, deliveries: number, reason: string): Promise<void> {
    const { messages, depth, deadLetters } = this.keys;
    await this.redis.buryEntry(messages, depth, deadLetters, GROUP, id, reason, deliveries);
  }

  async split({ id, frames }: Entry, parts: readonly Part[], stays: boolean): Promise<void> {
    const { messages, depth } = this.keys;
    const values = parts.flatMap((part) => [part.frame, part.deliveries, Number(part.suspect), part.reason]);
    await this.redis.splitEntry(messages, depth, GROUP, id, stays ? 1 : 0, frames.length, ...values);
  }

  async signOff(consumer: string): Promise<void> {
    await this.redis.signOff(this.keys.messages, GROUP, consumer);
  }
}

const numberIn = (result: [error: Error | null, value?: unknown] | undefined): number =>
  result?.[0] ? 0 : Number(result?.[1]);

/** The number of the last sign of life of an entry, by the time of its delivery; 0: it was claimed, and not renewed since. */
function signOf(deliveredMs: number): number {
  return deliveredMs < EARLIEST_MS ? Math.round(deliveredMs / SIGN_MS) : 0;
}

/**
 * How many messages so many entries hold, by their counter. Entries that others wrote are not counted, and anybody may have put
 * any number there.
 */
function messagesIn(entries: number, counted: number): number {
  return Math.min(Math.max(entries, counted), entries * ENTRY_FRAMES);
}

/** Counts the messages in a stream, or in its shards. */
export async function waitingIn(
  redis: Connection,
  keys: QueueKeys,
  shards: number | undefined,
): Promise<number> {
  let count = 0;
  for (const { messages, depth } of keys.parts(shards)) {
    const entries = await redis.xlen(messages);
    if (entries > 0) count += messagesIn(entries, Number(await redis.get(depth)) || 0);
  }
  return count;
}

function entryOf(id: Buffer, raw: Buffer[] | null, deliveries: number, suspect = false): Entry {
  const fields = raw ?? [];
  const text = (name: string) => fieldOf(fields, name)?.toString() ?? '';
  const packed = fieldOf(fields, 'frame');
  const entry = { id: id.toString('latin1'), frames: packed === undefined ? [] : unpackFrames(packed) };
  // Most entries have only their frames.
  if (fields.length <= 2) return { ...entry, deliveries, suspect, reason: '' };
  return {
    ...entry,
    deliveries: Math.max(deliveries, Number(text('deliveries')) || 0),
    suspect: suspect || text('suspect') === '1',
    reason: text('reason'),
  };
}

function fieldOf(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toString('latin1') === name) return fields[i + 1];
  }
  return undefined;
}
