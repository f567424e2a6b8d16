import type { Connection, QueueOptions, RawEntry } from './connection.ts';
import { EntrySize } from './entry-size.ts';
import { bytesOf, ENTRY_FRAMES, type Message, packFrames, unpackFrames } from './frame.ts';
import { type Keys, WHOLE } from './keys.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, messagesOf, type Part, Queue } from './queue.ts';

const GROUP = 'relays';
/** More than any window of a relay. */
const PENDING_MAX = 100_000;
/** The cursor of XAUTOCLAIM before the first entry and after the last. */
const START = '0-0';

type PendingRow = [id: string, holder: string, idleMs: number, counter: number];

/** A stream with a consumer group. An entry `frame <frames>` holds messages that were written together. */
export class StreamQueue extends Queue {
  readonly kind = 'stream';
  protected readonly keys: Keys;
  /** The stream has no shards in this Redis; a shard does not ask. */
  #agreed: boolean;
  /** Where the next look for abandoned entries begins. */
  #cursor = START;
  readonly #size: EntrySize;

  constructor(options: QueueOptions, keys = WHOLE, shared?: Connection) {
    super(options, shared);
    this.keys = keys;
    this.#size = new EntrySize(ENTRY_FRAMES, options.shards);
    this.#agreed = keys !== WHOLE;
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
    const write = this.redis.multi();
    for (const frames of packFrames(messages)) write.xadd(key, '*', 'frame', frames);
    write.incrby(depth, messages.length);
    const replies = await write.exec().catch((error) => {
      // The reason of the EXECABORT: Redis is full, or a replica.
      throw error.previousErrors?.[0] ?? error;
    });
    for (const [error] of replies ?? []) if (error) throw error;
    return Math.max(messages.length, replies?.at(-1)?.[1] as number);
  }

  async depth(): Promise<number> {
    const { messages, depth } = this.keys;
    const [entries, counted] = await Promise.all([this.redis.xlen(messages), this.redis.get(depth)]);
    if (entries > 0) return Math.max(entries, Number(counted)); // entries that others wrote are not counted
    // Somebody deleted counted entries by hand. The user may lack the right to reset the counter.
    if (Number(counted) !== 0) await this.redis.forgetDepth(messages, depth).catch(() => {});
    return 0;
  }

  async join(): Promise<void> {
    try {
      await this.redis.xgroup('CREATE', this.keys.messages, GROUP, '0', 'MKSTREAM');
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error;
    }
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    if (!this.#agreed) await this.agree();
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
    const key = this.keys.messages;
    const claim: Claim = { entries: [], deleted: 0 };
    const wanted = () => count - messagesOf(claim.entries);
    let bytes = 0;
    do {
      const most = this.#size.entriesFor(wanted());
      const round = this.redis.recoverEntriesBuffer(key, GROUP, consumer, idleMs, this.#cursor, most);
      const [cursor, taken, deleted] = await round.catch((error) => {
        // Earlier rounds have claimed entries, which nobody else would get before another lease ends.
        if (claim.entries.length + claim.deleted === 0) throw error;
        return [START, [], []] as const;
      });
      this.#cursor = cursor.toString();
      claim.deleted += deleted.length;
      const entries = taken.map(([id, fields, counter]) => ({
        ...entryOf(id, fields, Math.max(counter, 2), counter > 1),
        recovered: true,
      }));
      this.#size.note(entries);
      for (const { frames } of entries) bytes += bytesOf(frames);
      claim.entries.push(...entries);
    } while (this.#cursor !== START && wanted() > 0 && bytes < this.#size.most);
    return claim;
  }

  async recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim> {
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
      const claim = ['XCLAIM', key, GROUP, consumer, 0, ...ids, 'RETRYCOUNT', counter] as const;
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
    await this.redis.xclaim(this.keys.messages, GROUP, consumer, 0, id, 'RETRYCOUNT', deliveries, 'JUSTID');
  }

  async renew(consumer: string, ids: readonly string[]): Promise<void> {
    await this.redis.xclaim(this.keys.messages, GROUP, consumer, 0, ...ids, 'JUSTID');
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
