import type { Logger } from '../common/log.ts';
import type { MessageQueue, SplitMessage } from '../queue/queue.ts';
import type { HeldEntry, HeldMessage } from './holdings.ts';
import type { RefusalKind } from './publisher.ts';
import type { Troubles } from './troubles.ts';

interface UndeliverableOptions {
  queue: Pick<MessageQueue, 'attempt' | 'bury' | 'split'>;
  /** The relay's name in the consumer group. */
  consumer: string;
  /** Attempts before a message is buried. */
  deliveries: number;
  log: Logger;
  listener: UndeliverableListener;
  troubles: Pick<Troubles, 'failed' | 'done'>;
}

/** UndeliverableListener hears what becomes of each message that the broker did not take. */
export interface UndeliverableListener {
  /** The message may be published again. */
  onRetry(held: HeldMessage): void;
  /** A message of an entry has got its own entry. */
  onSplit(of: HeldEntry, held: HeldMessage | undefined): void;
  /** An entry has left the queue; `buried`: as a dead letter. */
  onGone(of: HeldEntry, buried: boolean): void;
}

const RETRY_MS = 50;
/** ms until a retry after a refusal by the broker's state: quota, too busy. */
const PASSING_RETRY_MS = 1000;
/** ms until a retry while the queue is away. */
const QUEUE_RETRY_MS = 2000;

/**
 * Handles messages that the broker did not take: another attempt later, or the dead letters. One of several in an entry first gets its
 * own entry, at the end of the queue, where it holds up no other.
 */
export class Undeliverable {
  readonly #options: UndeliverableOptions;
  #delayed = 0;
  #isClosed = false;

  constructor(options: UndeliverableOptions) {
    this.#options = options;
  }

  /** The number of messages that wait for another attempt. */
  get delayed(): number {
    return this.#delayed;
  }

  /** Tries no more. */
  close(): void {
    this.#isClosed = true;
  }

  /** The broker has refused a message. */
  refused(held: HeldMessage, reason: string, kind: RefusalKind): void {
    const { listener, deliveries } = this.#options;
    const { of, frame } = held;
    const lasting = kind !== 'passing';
    if (of.size > 1) {
      this.#split(of, { frame, deliveries: held.deliveries + Number(lasting), suspect: false, reason }, held);
      return;
    }
    if (kind === 'final' || (lasting && held.deliveries >= deliveries)) {
      this.#bury(of, held.deliveries, reason);
      return;
    }
    const delay = lasting ? RETRY_MS * 2 ** Math.min(held.deliveries, 5) : PASSING_RETRY_MS;
    if (lasting) held.deliveries++;
    // It did not break the connection.
    held.suspect = false;
    this.#delayed++;
    setTimeout(() => {
      this.#delayed--;
      listener.onRetry(held);
    }, delay);
  }

  /** Called before a suspect is published alone. Resolves with whether to publish it. */
  async suspect(held: HeldMessage, brokerReason: string): Promise<boolean> {
    const { queue, consumer, deliveries } = this.#options;
    const { of, frame } = held;
    const reason =
      of.entry.reason || `each attempt ended with a broken connection or a dead relay: ${brokerReason}`;
    if (held.deliveries >= deliveries) {
      if (of.size > 1) this.#split(of, { frame, deliveries: held.deliveries, suspect: true, reason }, held);
      else this.#bury(of, held.deliveries, reason);
      return false;
    }
    held.deliveries++;
    // Attempts of an entry of several messages are not recorded: the next relay splits it, and records its own.
    if (of.size === 1) {
      const { id } = of.entry;
      // If recording fails, the next relay makes one attempt more.
      await queue.attempt(consumer, id, held.deliveries).catch(() => {});
    }
    return true;
  }

  /** Buries a malformed message. */
  malformed(of: HeldEntry, index: number, reason: string): void {
    const { frames, deliveries, suspect } = of.entry;
    if (of.size === 1) this.#bury(of, deliveries, reason);
    else this.#split(of, { frame: frames[index] as Buffer, deliveries, suspect, reason });
  }

  /** Splits an entry that relays died with into one entry a message, to find the cause. */
  divide(of: HeldEntry): void {
    const { queue, listener } = this.#options;
    const { frames, deliveries, suspect, reason } = of.entry;
    const parts = frames.map((frame) => ({ frame, deliveries, suspect, reason }));
    this.#untilDone(
      of,
      () => queue.split(of.entry, parts, false),
      () => listener.onGone(of, false),
    );
  }

  /**
   * Keeps only the undelivered messages of an entry in the queue, so that the others do not arrive again.
   * @returns how many got an entry of their own
   */
  async keepRest(of: HeldEntry): Promise<number> {
    const { queue, listener, troubles } = this.#options;
    const rest = of.messages.filter(({ done }) => !done);
    // Malformed messages are getting their own entries.
    if (of.delivered === 0 || of.open === 0 || rest.length < of.open) return 0;
    const parts = rest.map(({ frame, deliveries, suspect }) => ({ frame, deliveries, suspect, reason: '' }));
    try {
      await queue.split(of.entry, parts, false);
    } catch (error) {
      troubles.failed('letters', error as Error, { part: of.entry.id });
      return 0;
    }
    listener.onGone(of, false);
    return parts.length;
  }

  #bury(of: HeldEntry, deliveries: number, reason: string): void {
    const { queue, log, listener } = this.#options;
    this.#untilDone(
      of,
      () => queue.bury(of.entry, deliveries, reason),
      () => {
        log.warn(`dead letter after ${deliveries} attempts: ${reason}`);
        listener.onGone(of, true);
      },
    );
  }

  #split(of: HeldEntry, part: SplitMessage, held?: HeldMessage): void {
    const { queue, listener } = this.#options;
    this.#untilDone(
      of,
      () => queue.split(of.entry, [part], true),
      () => listener.onSplit(of, held),
    );
  }

  /** Repeats work on an entry until the queue has done it. */
  #untilDone(of: HeldEntry, work: () => Promise<void>, then: () => void): void {
    if (this.#isClosed) return;
    const { troubles } = this.#options;
    const part = of.entry.id;
    work().then(
      () => {
        troubles.done('letters', part);
        then();
      },
      (error) => {
        troubles.failed('letters', error, { part });
        setTimeout(() => this.#untilDone(of, work, then), QUEUE_RETRY_MS);
      },
    );
  }
}
