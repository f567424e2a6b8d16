import { setTimeout as sleep } from 'node:timers/promises';
import { ReplyError } from 'ioredis';
import type { Connection } from './commands.ts';
import { DeadLetters } from './dead-letters.ts';
import { EntrySize } from './entry-size.ts';
import { bytesOf, encodeFrame } from './frame.ts';
import {
  CLAIM_WAIT_MS,
  type Claim,
  type Entry,
  type Letters,
  type Message,
  type MessageQueue,
  NOTHING,
  type Return,
} from './queue.ts';
import { everyone, RedisQueue } from './redis-queue.ts';

/** Most messages of one call: a function takes some 120,000 arguments. */
const BACK_AT_ONCE = 1000;

/** ms that messages which a dead relay had taken stay; the count of those that it had seen stays twice as long. */
const STAYS_MS = 86_400_000;
/** ms between renewals of those keys for a living relay that may not have seen the messages. */
const RENEW_MS = 60_000;
/** Messages, bytes and ms until what was seen is removed from Redis, if they are taken one by one. */
const SEEN_MOST = 100;
const SEEN_BYTES = 1_048_576;
const SEEN_MS = 60_000;
/** ms between looks at an empty list in a full Redis, which refuses BLMOVE. */
const FULL_MS = 50;
/** ms that a Redis which was full counts as such. */
const FULL_LASTS_MS = 1000;

/**
 * A list: LPUSH at one end, LMOVE and BLMOVE from the other to a list of the relay's own, where messages stay until it has seen them:
 * an answer that is lost with its connection is given again. What a relay holds is lost when it dies.
 */
export class ListQueue extends RedisQueue implements MessageQueue {
  readonly keeps = false;
  readonly problem = undefined;
  readonly shards = 1;
  readonly #size = new EntrySize(1);
  readonly #keys = { ...this.all.whole, messages: this.all.list };
  readonly #reader = this.store.reader();
  /** How many messages we have taken and seen. */
  #seen = 0;
  /** Messages and bytes of them that are still in Redis, and when the last ones were removed (ms of the monotonic clock). */
  #kept = { messages: 0, bytes: 0, since: Number.NEGATIVE_INFINITY };
  /** Until when Redis counts as full, so that we use the script; ms of the monotonic clock. */
  #full = 0;
  /** A claim is in progress. */
  #claiming = false;
  /** The last claim failed: Redis may have moved messages that we have not seen. */
  #failed = false;
  #renewals: NodeJS.Timeout | undefined;

  append(messages: readonly Message[]): Promise<number> {
    const frames = messages.map(encodeFrame);
    return this.store.write(frames, (redis) => redis.lpush(this.#keys.messages, ...frames));
  }

  depth(): Promise<number> {
    return this.redis.llen(this.#keys.messages);
  }

  /** Gives nothing back, so that Redis knows the script: {@link signOff} may have no time for a second attempt. */
  async join(): Promise<void> {
    await this.redis.giveBack(this.#keys.messages);
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    const reader = await this.#reader.open();
    const { messages, bytes, since } = this.#kept;
    const isKept = messages < SEEN_MOST && bytes < SEEN_BYTES && performance.now() - since < SEEN_MS;
    // One by one is the usual form, to compare with: a script takes Redis twice as long.
    const isOne = count === 1 && isKept && !this.#failed && performance.now() >= this.#full;
    this.#claiming = true;
    this.#failed = true;
    this.#renewals ??= setInterval(() => this.#renewTaken(consumer), RENEW_MS).unref();
    try {
      let frames = isOne ? [] : await this.#take(reader, consumer, count);
      if (frames.length === 0) frames = await this.#wait(reader, consumer);
      this.#seen += frames.length;
      this.#kept.messages += frames.length;
      this.#kept.bytes += bytesOf(frames);
      this.#failed = false;
      if (frames.length === 0) return NOTHING;
      const alone = (frame: Buffer) => ({
        id: '',
        frames: [frame],
        deliveries: 1,
        suspect: false,
        reason: '',
      });
      const entries = frames.map(alone);
      this.#size.note(entries);
      return { entries, deleted: 0 };
    } finally {
      this.#claiming = false;
    }
  }

  /** Takes messages that Redis gave us and we have not seen, or new ones. */
  async #take(reader: Connection, consumer: string, count: number): Promise<Buffer[]> {
    const { messages } = this.#keys;
    const pieces: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const { limit } = this.#size;
      const how = [this.#seen, this.#size.entriesFor(count), limit, bytes, STAYS_MS];
      const answer = reader.takeMessagesBuffer(messages, ...this.all.taken(consumer), ...how);
      const [frames, cut] = await this.#size.watch(answer);
      this.#kept = { messages: 0, bytes: 0, since: performance.now() };
      if (cut === 0 && pieces.length === 0) return frames;
      // One that is larger than an answer.
      const piece = frames[0] as Buffer;
      pieces.push(piece);
      bytes += piece.length;
      if (cut === 0) return [Buffer.concat(pieces)];
    }
  }

  /** Waits for a message. */
  async #wait(reader: Connection, consumer: string): Promise<Buffer[]> {
    const [taken] = this.all.taken(consumer);
    const answer = reader.blmoveBuffer(this.#keys.messages, taken, 'RIGHT', 'LEFT', CLAIM_WAIT_MS / 1000);
    // Redis does it after the move, which makes the key.
    if (this.#kept.messages === 0) reader.pexpire(taken, STAYS_MS).catch(() => {});
    try {
      const frame = await this.#size.watch(answer);
      return frame === null ? [] : [frame];
    } catch (error) {
      if (!/^OOM /.test((error as Error).message)) throw error;
      this.#full = performance.now() + FULL_LASTS_MS;
      await sleep(FULL_MS);
      return [];
    }
  }

  async recover(): Promise<Claim> {
    return NOTHING;
  }

  async recoverUnseen(): Promise<Claim> {
    return NOTHING;
  }

  async attempt(): Promise<void> {}

  async renew(): Promise<void> {}

  async acknowledge(): Promise<void> {}

  async bury({ frames: [frame] }: Entry, deliveries: number, reason: string): Promise<void> {
    if (frame === undefined) return;
    await this.redis.buryTaken(this.#keys.deadLetters, frame, reason, deliveries);
  }

  /** Does nothing: an element of a list is one message. */
  async split(): Promise<void> {}

  async signOff(
    consumer: string,
    held: readonly Entry[],
    onReturn: (entries: readonly Entry[], how: Return) => void = () => {},
  ): Promise<void> {
    // The oldest last, as LMOVE takes from that end.
    const backwards = held.toReversed();
    const parts = Array.from({ length: Math.ceil(backwards.length / BACK_AT_ONCE) }, (_, n) =>
      backwards.slice(n * BACK_AT_ONCE, (n + 1) * BACK_AT_ONCE),
    );
    // What a claim in progress brings is held then.
    const unseen = this.#failed && !this.#claiming ? this.#leave(consumer) : undefined;
    unseen?.catch(() => {}); // it is awaited below, unless what is held cannot be given back either
    // All are written at once, in this order: a Redis that does not answer now may take them later.
    await everyone(parts, async (part) => {
      const written = this.away === undefined;
      if (written) onReturn(part, 'asked');
      try {
        await this.redis.giveBack(this.#keys.messages, ...part.flatMap(({ frames }) => frames));
      } catch (error) {
        // After any other error Redis may have stored them.
        if (!written || error instanceof ReplyError) onReturn(part, 'refused');
        throw error;
      }
      onReturn(part, 'back');
    });
    await unseen;
  }

  get deadLetters(): Letters {
    return new DeadLetters(this.redis, 'list', this.#keys);
  }

  shardOf(): number {
    return 0;
  }

  shardFor(): number {
    return 0;
  }

  shardName(): undefined {}

  async interrupt(): Promise<void> {
    await this.#reader.interrupt(this.redis);
  }

  override close(): void {
    clearInterval(this.#renewals);
    this.#reader.close();
    super.close();
  }

  /** Keeps what we have not seen: while the broker is away nothing is claimed, and it waits for the next claim. */
  #renewTaken(consumer: string): void {
    if (!this.#failed) return;
    const [taken, seen] = this.all.taken(consumer);
    this.redis.pexpire(taken, STAYS_MS).catch(() => {});
    this.redis.pexpire(seen, 2 * STAYS_MS).catch(() => {});
  }

  /** Gives back messages that were taken for us and that we have not seen. */
  async #leave(consumer: string): Promise<void> {
    const { messages } = this.#keys;
    await this.redis.leaveMessages(messages, ...this.all.taken(consumer), this.#seen, STAYS_MS);
    this.#failed = false;
  }
}
