import { type Connection, type PendingRow, type RawEntry, type Result, Transactions } from './commands.ts';
import type { Reader } from './connection.ts';
import { DeadLetters } from './dead-letters.ts';
import { EntrySize } from './entry-size.ts';
import { ENTRY_FRAMES, entryOf, packFrames } from './frame.ts';
import type { Keys } from './keys.ts';
import {
  CLAIM_WAIT_MS,
  type Claim,
  type Entry,
  type Letters,
  type Message,
  type MessageQueue,
  type SplitMessage,
} from './queue.ts';
import { Silence } from './silence.ts';
import type { Store } from './store.ts';
import { type Taken, Takeover } from './takeover.ts';

const GROUP = 'relays';
/** Most entries that one look lists: more than any window of a relay. */
const PENDING_MAX = 100_000;
/** ms between the numbers of two signs of life: Redis reads its clock twice for one look. */
const SIGN_MS = 1000;
/** Deliveries before this time (2001) are signs of life. */
const EARLIEST_MS = 1e12;

/** How a relay reads a stream: a {@link Shard} beside all other relays, or by leases the shards that are its own. */
export interface StreamReader
  extends Pick<
    MessageQueue,
    'problem' | 'shards' | 'claim' | 'recover' | 'recoverUnseen' | 'interrupt' | 'close'
  > {
  signOff(consumer: string): Promise<void>;
  /** The relay no longer holds these entries of a shard. */
  done(shard: number, entries: readonly Pick<Entry, 'id'>[]): void;
}

/**
 * One shard of a stream: a stream in Redis with its consumer group. An entry `frame <frames>` holds messages that were written
 * together. The id of an entry is `<shard>/<id in Redis>`, or the id in Redis if the stream is not divided.
 */
export class Shard implements StreamReader {
  /** What it is called in a sentence; undefined: it is the only one. */
  readonly name: string | undefined;
  readonly problem = undefined;
  readonly shards = 1;
  readonly #store: Store;
  readonly #redis: Connection;
  readonly #reader: Reader;
  readonly #keys: Keys;
  /** What the ids of its entries have before the ids in Redis. */
  readonly #prefix: string;
  readonly #transactions = new Transactions();
  /** Entries of other consumers that have not been renewed. */
  readonly #silence = new Silence();
  /** The number of our last sign of life. */
  #signs = 0;
  /** When consumers of relays that are gone are removed again, ms of the monotonic clock. */
  #tidies = 0;
  readonly #size: EntrySize;
  readonly #takeover: Takeover;
  /** Why the last takeover ended early. */
  #failure: Error | undefined;
  /** The group has been there: if it is not there now, Redis has lost its data. */
  #joined = false;

  /**
   * @param index undefined: the stream is not divided
   * @param count the number of shards of the stream
   */
  constructor(store: Store, index: number | undefined, count: number) {
    this.name = count > 1 ? `shard ${index}` : undefined;
    this.#store = store;
    this.#redis = store.redis;
    this.#reader = store.reader();
    this.#keys = index === undefined ? store.keys.whole : store.keys.shard(index);
    this.#prefix = index === undefined ? '' : `${index}/`;
    this.#size = new EntrySize(ENTRY_FRAMES, count);
    this.#takeover = new Takeover(this.#keys.messages, GROUP, this.#prefix, this.#size);
  }

  /** Uses a transaction, as a script takes Redis 1.5 times as long. A waiting relay wakes once, with all entries. */
  async append(messages: readonly Message[]): Promise<number> {
    const { messages: key, depth } = this.#keys;
    const packs = packFrames(messages);
    const results = await this.#store.write(packs, (redis) =>
      this.#transactions.run(redis, [
        ...packs.map((frames) => ['xadd', key, '*', 'frame', frames]),
        ['incrby', depth, messages.length],
        ['xlen', key],
      ]),
    );
    // The entries decide: they are in the queue, even if somebody else's value in the counter's key refuses to count them.
    const [counted, entries] = results.splice(-2);
    for (const [error] of results) if (error) throw error;
    return Math.max(messages.length, messagesIn(numberIn(entries), numberIn(counted)));
  }

  async depth(): Promise<number> {
    const { messages, depth } = this.#keys;
    const [entries, counted] = await Promise.all([this.#redis.xlen(messages), this.#redis.get(depth)]);
    if (entries > 0) return messagesIn(entries, Number(counted) || 0);
    // Somebody deleted counted entries by hand. The user may lack the right to reset the counter.
    if (Number(counted) !== 0) await this.#redis.forgetDepth(messages, depth).catch(() => {});
    return 0;
  }

  async join(): Promise<void> {
    await this.#redis.joinGroup(this.#keys.messages, GROUP);
    this.#joined = true;
  }

  /** Joins the group before a relay's first command to it: Redis may have come up after the relay. */
  async #enter(): Promise<void> {
    if (!this.#joined) await this.join();
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    await this.#enter();
    const reader = await this.#reader.open();
    const most = ['COUNT', this.#size.entriesFor(count), 'BLOCK', CLAIM_WAIT_MS] as const;
    const from = ['STREAMS', this.#keys.messages, '>'] as const;
    const answer = reader.xreadgroupBuffer('GROUP', GROUP, consumer, ...most, ...from);
    const reply = await this.#size.watch(answer);
    const raw = (reply as [Buffer, RawEntry[]][] | null)?.[0]?.[1] ?? [];
    const entries = raw.map(([id, fields]) => entryOf(this.#prefix, id, fields, 1));
    this.#size.note(entries);
    return { entries, deleted: 0 };
  }

  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    // A rejection makes the relay look for entries that it has not seen.
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    await this.#enter();
    const [ms, rows] = await this.#redis.pendingEntries(this.#keys.messages, GROUP, PENDING_MAX);
    const others = rows.filter(([, holder]) => holder !== consumer);
    this.#silence.keep(new Set(others.map(([id]) => id)));
    const abandoned = others.filter(
      ([id, holder, idle]) => this.#silence.ms(id, `${holder} ${signOf(ms - idle)}`) >= idleMs,
    );
    const claim = await this.#takeover.run(this.#redis, consumer, abandoned, count, '');
    this.#failure = claim.failure;
    await this.#tidy(consumer, idleMs);
    return claim;
  }

  /** Removes consumers of relays that are gone, once in a while: each relay has a name of its own. */
  async #tidy(consumer: string, idleMs: number): Promise<void> {
    if (performance.now() < this.#tidies) return;
    this.#tidies = performance.now() + idleMs;
    // They only cost memory, and the entries that were taken over must not be lost with an error.
    await this.#redis.tidyConsumers(this.#keys.messages, GROUP, consumer, 2 * idleMs).catch(() => {});
  }

  async recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim> {
    await this.#enter();
    const key = this.#keys.messages;
    const rows = (await this.#redis.xpending(key, GROUP, '-', '+', PENDING_MAX, consumer)) as PendingRow[];
    const unseen = rows.filter(([id]) => !holds(this.#prefix + id));
    const claim = await this.#reclaim(consumer, unseen, count);
    if (claim.failure !== undefined && claim.entries.length === 0) throw claim.failure;
    return claim;
  }

  /**
   * Takes over about `count` messages that other consumers hold, and those delivered to us that we never read, oldest first, from
   * entry `from` on (`-`: the first). Only the owner of the shard may do so. `next` is where to go on; undefined: that was all.
   */
  async inherit(
    consumer: string,
    from: string,
    count: number,
    holds: (id: string) => boolean,
  ): Promise<Claim & { next: string | undefined }> {
    await this.#enter();
    const most = this.#size.entriesFor(count);
    const rows = (await this.#redis.xpending(this.#keys.messages, GROUP, from, '+', most)) as PendingRow[];
    const unseen = rows.filter(([id]) => !holds(this.#prefix + id));
    const claim = await this.#reclaim(consumer, unseen, count);
    const isAll = claim.seen === unseen.length;
    const last = isAll ? rows.at(-1) : unseen[claim.seen - 1];
    if (isAll && rows.length < most) return { ...claim, next: undefined };
    return { ...claim, next: last === undefined ? from : `(${last[0]}` };
  }

  /**
   * Takes over entries however long they have been held. It uses the reader: an answer that breaks its connection breaks no write.
   */
  async #reclaim(consumer: string, rows: readonly PendingRow[], count: number): Promise<Taken> {
    const any = rows.map(([id, holder, , counter]): PendingRow => [id, holder, 0, counter]);
    return this.#takeover.run(await this.#reader.open(), consumer, any, count, this.#sign());
  }

  async attempt(consumer: string, id: string, deliveries: number): Promise<void> {
    await this.#touch(consumer, [id], 'RETRYCOUNT', deliveries);
  }

  async renew(consumer: string, ids: readonly string[]): Promise<void> {
    await this.#touch(consumer, ids);
  }

  async #touch(consumer: string, ids: readonly string[], ...more: (string | number)[]): Promise<void> {
    const own = ids.map((id) => this.#idInRedis(id));
    const sign = ['TIME', this.#sign()] as const;
    await this.#redis.xclaim(this.#keys.messages, GROUP, consumer, 0, ...own, ...sign, ...more, 'JUSTID');
  }

  /** Makes a sign of life: another number in place of the time of a delivery, as Redis' clock may step. */
  #sign(): number {
    return ++this.#signs * SIGN_MS;
  }

  async acknowledge(entries: readonly Pick<Entry, 'id' | 'frames'>[]): Promise<void> {
    const { messages, depth } = this.#keys;
    const counted = entries.flatMap(({ id, frames }) => [this.#idInRedis(id), frames.length]);
    await this.#redis.acknowledgeEntries(messages, depth, GROUP, ...counted);
  }

  async bury({ id }: Entry, deliveries: number, reason: string): Promise<void> {
    const { messages, depth, deadLetters } = this.#keys;
    const own = this.#idInRedis(id);
    await this.#redis.buryEntry(messages, depth, deadLetters, GROUP, own, reason, deliveries);
  }

  async split({ id, frames }: Entry, parts: readonly SplitMessage[], stays: boolean): Promise<void> {
    const { messages, depth } = this.#keys;
    const entry = [this.#idInRedis(id), stays ? 1 : 0, frames.length];
    const values = parts.flatMap((part) => [part.frame, part.deliveries, Number(part.suspect), part.reason]);
    await this.#redis.splitEntry(messages, depth, GROUP, ...entry, ...values);
  }

  async signOff(consumer: string): Promise<void> {
    await this.#redis.signOff(this.#keys.messages, GROUP, consumer);
  }

  get deadLetters(): Letters {
    return new DeadLetters(this.#redis, 'stream', this.#keys, this.#prefix);
  }

  /** Does nothing: the shard keeps no list of what a relay holds. */
  done(): void {}

  async interrupt(): Promise<void> {
    await this.#reader.interrupt(this.#redis);
  }

  close(): void {
    this.#reader.close();
  }

  #idInRedis(id: string): string {
    return id.slice(this.#prefix.length);
  }
}

const numberIn = (result: Result | undefined): number => (result?.[0] ? 0 : Number(result?.[1]));

/** The number of the last sign of life of an entry, by the time of its delivery; 0: it was claimed, and not renewed since. */
function signOf(deliveredMs: number): number {
  return deliveredMs < EARLIEST_MS ? Math.round(deliveredMs / SIGN_MS) : 0;
}

/**
 * How many messages so many entries hold, by their counter. Entries that others wrote are not counted, and anybody may have put
 * any number there.
 */
export function messagesIn(entries: number, counted: number): number {
  return Math.min(Math.max(entries, counted), entries * ENTRY_FRAMES);
}
