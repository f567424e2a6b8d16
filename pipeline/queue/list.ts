import { ReplyError } from 'ioredis';
import { EntrySize } from './entry-size.ts';
import { encodeFrame } from './frame.ts';
import { everyone } from './leases.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, type Message, NOTHING, type Return } from './queue.ts';
import { RedisQueue } from './redis-queue.ts';

/** Messages of a call: a function takes some 120,000 arguments. */
const BACK_AT_ONCE = 1000;

/**
 * A list: LPUSH at one end, BRPOP at the other. A message that a relay has taken is lost when the relay dies, or when
 * the connection breaks while Redis answers.
 */
export class ListQueue extends RedisQueue {
  protected readonly kind = 'list';
  readonly keeps = false;
  readonly #size = new EntrySize(1);
  protected readonly keys = { ...this.all.whole, messages: this.all.list };

  append(messages: readonly Message[]): Promise<number> {
    return this.redis.lpush(this.keys.messages, ...messages.map(encodeFrame));
  }

  depth(): Promise<number> {
    return this.redis.llen(this.keys.messages);
  }

  /** Gives nothing back, so that Redis knows the script: {@link signOff} may have no time for a second attempt. */
  async join(): Promise<void> {
    await this.redis.giveBack(this.keys.messages);
  }

  async claim(_consumer: string, count: number): Promise<Claim> {
    const reader = await this.reader();
    const waitS = CLAIM_WAIT_MS / 1000;
    const most = this.#size.entriesFor(count);
    // BRPOP of one element is the usual form, to compare with.
    const frames =
      most === 1
        ? (await reader.brpopBuffer(this.keys.messages, waitS))?.slice(1)
        : (await reader.blmpopBuffer(waitS, 1, this.keys.messages, 'RIGHT', 'COUNT', most))?.[1];
    if (frames === undefined) return NOTHING;
    const alone = (frame: Buffer) => ({ id: '', frames: [frame], deliveries: 1, suspect: false, reason: '' });
    const entries = frames.map(alone);
    this.#size.note(entries);
    return { entries, deleted: 0 };
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
    await this.redis.buryTaken(this.keys.deadLetters, frame, reason, deliveries);
  }

  /** An element is one message. */
  async split(): Promise<void> {}

  async signOff(
    _consumer: string,
    held: readonly Entry[],
    onReturn: (entries: readonly Entry[], how: Return) => void = () => {},
  ): Promise<void> {
    // The oldest last, as BRPOP takes from that end.
    const backwards = held.toReversed();
    const parts = Array.from({ length: Math.ceil(backwards.length / BACK_AT_ONCE) }, (_, n) =>
      backwards.slice(n * BACK_AT_ONCE, (n + 1) * BACK_AT_ONCE),
    );
    // All are written at once, in this order: a Redis that does not answer now may take them later.
    await everyone(parts, async (part) => {
      const written = this.away === undefined;
      if (written) onReturn(part, 'asked');
      try {
        await this.redis.giveBack(this.keys.messages, ...part.flatMap(({ frames }) => frames));
      } catch (error) {
        // After any other error Redis may have them.
        if (!written || error instanceof ReplyError) onReturn(part, 'refused');
        throw error;
      }
      onReturn(part, 'back');
    });
  }
}
