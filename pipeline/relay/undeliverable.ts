import type { Logger } from '../common/log.ts';
import type { Part, Queue } from '../queue/queue.ts';
import type { Held, HeldEntry } from './held.ts';

export interface UndeliverableOptions {
  queue: Pick<Queue, 'attempt' | 'bury' | 'split'>;
  /** The relay's name in the consumer group. */
  consumer: string;
  /** Attempts before a message is buried. */
  deliveries: number;
  log: Logger;
  /** A message may be published again. */
  onAgain: (held: Held) => void;
  /** A message of an entry has one of its own now. */
  onSplit: (of: HeldEntry, held: Held | undefined) => void;
  /** An entry has left the queue; `buried`: with its message. */
  onGone: (of: HeldEntry, buried: boolean) => void;
  onError: (error: Error) => void;
}

const RETRY_MS = 50;
/** The broker's state is in the way, not the message: quota, too busy. */
const PASSING_RETRY_MS = 1000;
/** Redis is away. */
const REDIS_RETRY_MS = 2000;

/**
 * What becomes of messages that the broker did not take: another attempt, after a while, or the dead letters. One of several in an entry
 * gets an entry of its own for that, at the end of the queue, where it holds up no other.
 */
export class Undeliverable {
  readonly #options: UndeliverableOptions;
  #delayed = 0;

  constructor(options: UndeliverableOptions) {
    this.#options = options;
  }

  /** Messages that are held, and to be published again in a while. */
  get delayed(): number {
    return this.#delayed;
  }

  /** The broker said no. `lasting`: because of the message, and it will again. */
  refused(held: Held, reason: string, lasting: boolean): void {
    const { onAgain, onError, deliveries } = this.#options;
    const { of, frame } = held;
    if (!lasting) onError(new Error(`the broker takes nothing for now: ${reason}`));
    if (of.size > 1) {
      this.#split(of, { frame, deliveries: held.deliveries + Number(lasting), suspect: false, reason }, held);
      return;
    }
    if (lasting && held.deliveries >= deliveries) {
      this.#bury(of, held.deliveries, reason);
      return;
    }
    const delay = lasting ? RETRY_MS * 2 ** Math.min(held.deliveries, 5) : PASSING_RETRY_MS;
    if (lasting) held.deliveries++;
    // The connection has survived it.
    held.suspect = false;
    this.#delayed++;
    setTimeout(() => {
      this.#delayed--;
      onAgain(held);
    }, delay);
  }

  /** A message that may be what breaks connections is about to be published alone. Resolves with whether it is to be. */
  async suspect(held: Held, brokerReason: string): Promise<boolean> {
    const { queue, consumer, deliveries, onError } = this.#options;
    const { of, frame } = held;
    const reason =
      of.entry.reason || `each attempt ended with a broken connection or a dead relay: ${brokerReason}`;
    if (held.deliveries >= deliveries) {
      if (of.size > 1) this.#split(of, { frame, deliveries: held.deliveries, suspect: true, reason }, held);
      else this.#bury(of, held.deliveries, reason);
      return false;
    }
    held.deliveries++;
    // Of several messages no attempt is noted: an entry that relays die with is divided by the next one, who notes them.
    if (of.size === 1) await queue.attempt(consumer, of.entry.id, held.deliveries).catch(onError);
    return true;
  }

  /** This is no message. */
  malformed(of: HeldEntry, index: number, reason: string): void {
    const { frames, deliveries, suspect } = of.entry;
    if (of.size === 1) this.#bury(of, deliveries, reason);
    else this.#split(of, { frame: frames[index] as Buffer, deliveries, suspect, reason });
  }

  /** Gives each message of an entry that relays died with an entry of its own, so that the one which is to blame is found. */
  divide(of: HeldEntry): void {
    const { queue, onGone } = this.#options;
    const { frames, deliveries, suspect, reason } = of.entry;
    const parts = frames.map((frame) => ({ frame, deliveries, suspect, reason }));
    this.#untilDone(
      () => queue.split(of.entry, parts, false),
      () => onGone(of, false),
    );
  }

  /** Of an entry that is delivered in part only the rest stays in the queue: what has arrived is not to arrive again. */
  async keepRest(of: HeldEntry): Promise<void> {
    const { queue, onGone, onError } = this.#options;
    const rest = of.messages.filter(({ done }) => !done);
    // Malformed ones are on their way into entries of their own.
    if (of.delivered === 0 || of.open === 0 || rest.length < of.open) return;
    const parts = rest.map(({ frame, deliveries, suspect }) => ({ frame, deliveries, suspect, reason: '' }));
    await queue.split(of.entry, parts, false).then(() => onGone(of, false), onError);
  }

  #bury(of: HeldEntry, deliveries: number, reason: string): void {
    const { queue, log, onGone } = this.#options;
    this.#untilDone(
      () => queue.bury(of.entry, deliveries, reason),
      () => {
        log.warn(`dead letter after ${deliveries} attempts: ${reason}`);
        onGone(of, true);
      },
    );
  }

  #split(of: HeldEntry, part: Part, held?: Held): void {
    const { queue, onSplit } = this.#options;
    this.#untilDone(
      () => queue.split(of.entry, [part], true),
      () => onSplit(of, held),
    );
  }

  /** Redis may be away. */
  #untilDone(work: () => Promise<void>, then: () => void): void {
    work().then(then, (error) => {
      this.#options.onError(error);
      setTimeout(() => this.#untilDone(work, then), REDIS_RETRY_MS);
    });
  }
}
