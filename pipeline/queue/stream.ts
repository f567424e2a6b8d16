import type { Connection, QueueOptions, RawEntry } from './connection.ts';
import { encodeFrame, type Message } from './frame.ts';
import { type Keys, WHOLE } from './keys.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, Queue } from './queue.ts';

const GROUP = 'relays';
/** More than any window of a relay. */
const PENDING_MAX = 100_000;
/** Longer than any lease. */
const ABANDONED_MS = 86_400_000;
/** What the cursor of XAUTOCLAIM is before the first entry and after the last. */
const START = '0-0';

/** A stream with a consumer group, an entry `frame <frame>` for each message. */
export class StreamQueue extends Queue {
  readonly kind = 'stream';
  protected readonly keys: Keys;
  /** Where the next look for abandoned entries begins. */
  #cursor = START;

  constructor(options: QueueOptions, keys = WHOLE, shared?: Connection) {
    super(options, shared);
    this.keys = keys;
  }

  append(messages: readonly Message[]): Promise<number> {
    return this.redis.appendFrames(this.keys.messages, ...messages.map(encodeFrame));
  }

  depth(): Promise<number> {
    return this.redis.xlen(this.keys.messages);
  }

  async join(): Promise<void> {
    try {
      await this.redis.xgroup('CREATE', this.keys.messages, GROUP, '0', 'MKSTREAM');
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error;
    }
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    const reader = await this.reader();
    const reply = (await reader.xreadgroupBuffer(
      'GROUP',
      GROUP,
      consumer,
      'COUNT',
      count,
      'BLOCK',
      CLAIM_WAIT_MS,
      'STREAMS',
      this.keys.messages,
      '>',
    )) as [Buffer, RawEntry[]][] | null;
    const raw = reply?.[0]?.[1] ?? [];
    return { entries: raw.map(([id, fields]) => entry(id, fields, 1)), deleted: 0 };
  }

  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    const key = this.keys.messages;
    const claim: Claim = { entries: [], deleted: 0 };
    do {
      const wanted = count - claim.entries.length;
      const round = this.redis.recoverEntriesBuffer(key, GROUP, consumer, idleMs, this.#cursor, wanted);
      const [cursor, taken, deleted] = await round.catch((error) => {
        // What earlier rounds took is ours: nobody else would have it before another lease is over.
        if (claim.entries.length + claim.deleted === 0) throw error;
        return [START, [], []] as const;
      });
      this.#cursor = cursor.toString();
      claim.deleted += deleted.length;
      for (const [id, fields, counter] of taken) {
        claim.entries.push(entry(id, fields, Math.max(counter, 2), counter > 1));
      }
    } while (this.#cursor !== START && claim.entries.length < count);
    return claim;
  }

  async recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim> {
    const rows = (await this.redis.xpending(this.keys.messages, GROUP, '-', '+', PENDING_MAX, consumer)) as [
      id: string,
      ...unknown[],
    ][];
    const unseen = rows.flatMap(([id]) => (holds(id) ? [] : id)).slice(0, count);
    if (unseen.length === 0) return { entries: [], deleted: 0 };
    // Nobody has tried to deliver them: the counter stays what the claim had made it.
    const raw = (await this.redis.callBuffer(
      'XCLAIM',
      this.keys.messages,
      GROUP,
      consumer,
      0,
      ...unseen,
      'RETRYCOUNT',
      1,
    )) as RawEntry[];
    return {
      entries: raw.map(([id, fields]) => entry(id, fields, 1)),
      deleted: unseen.length - raw.length,
    };
  }

  async attempt(consumer: string, id: string, deliveries: number): Promise<void> {
    await this.redis.xclaim(this.keys.messages, GROUP, consumer, 0, id, 'RETRYCOUNT', deliveries, 'JUSTID');
  }

  async renew(consumer: string, ids: readonly string[]): Promise<void> {
    await this.redis.xclaim(this.keys.messages, GROUP, consumer, 0, ...ids, 'JUSTID');
  }

  /** What was handed out and not looked at goes to whoever looks for abandoned entries next. */
  async giveBack(consumer: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.redis.xclaim(this.keys.messages, GROUP, consumer, 0, ...ids, 'IDLE', ABANDONED_MS, 'JUSTID');
  }

  async acknowledge(ids: readonly string[]): Promise<void> {
    await this.redis.acknowledgeEntries(this.keys.messages, GROUP, ...ids);
  }

  async bury({ id, deliveries }: Entry, reason: string): Promise<void> {
    await this.redis.buryEntry(this.keys.messages, this.keys.deadLetters, GROUP, id, reason, deliveries);
  }

  async leave(consumer: string): Promise<void> {
    await this.redis.leaveGroup(this.keys.messages, GROUP, consumer);
  }
}

function entry(id: Buffer, fields: Buffer[] | null, deliveries: number, suspect = false): Entry {
  return { id: id.toString('latin1'), frame: frameOf(fields ?? []), deliveries, suspect };
}

function frameOf(fields: readonly Buffer[]): Buffer | undefined {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toString('latin1') === 'frame') return fields[i + 1];
  }
  return undefined;
}
