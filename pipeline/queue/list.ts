import { EntrySize } from './entry-size.ts';
import { encodeFrame, type Message } from './frame.ts';
import { LIST, WHOLE } from './keys.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, Queue } from './queue.ts';

const NOTHING: Claim = { entries: [], deleted: 0 };

/**
 * A list: LPUSH at one end, BRPOP at the other. A message that a relay has taken is lost when the relay dies, or when
 * the connection breaks while Redis answers.
 */
export class ListQueue extends Queue {
  readonly kind = 'list';
  readonly #size = new EntrySize(1);
  protected readonly keys = { ...WHOLE, messages: LIST };

  append(messages: readonly Message[]): Promise<number> {
    return this.redis.lpush(this.keys.messages, ...messages.map(encodeFrame));
  }

  depth(): Promise<number> {
    return this.redis.llen(this.keys.messages);
  }

  async join(): Promise<void> {}

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
    const fields = ['frame', frame, 'reason', reason, 'deliveries', deliveries] as const;
    await this.redis.xadd(this.keys.deadLetters, '*', ...fields);
  }

  /** An element is one message. */
  async split(): Promise<void> {}

  async signOff(_consumer: string, held: readonly Entry[]): Promise<void> {
    const frames = held.flatMap((entry) => entry.frames);
    // The oldest last, as BRPOP takes from that end.
    if (frames.length > 0) await this.redis.rpush(this.keys.messages, ...frames.reverse());
  }
}
