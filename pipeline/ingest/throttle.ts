import type { MessageQueue } from '../queue/queue.ts';
import type { IngestCounters } from './counters.ts';

/** ms between reads of the depth while answers are held, as no write may report it. */
const LOOK_MS = 1;
/** The longest delay of an answer, ms. */
const LONGEST_MS = 100;

/**
 * Delays answers while the queue is deep, so that clients that wait for them send no faster than the relays drain. The
 * messages are in the queue already, so their arrival is not delayed.
 */
export class Throttle {
  readonly #queue: Pick<MessageQueue, 'depth'>;
  readonly #backlog: number;
  readonly #count: IngestCounters;
  /** Delayed answers, oldest first. */
  readonly #held: { answer: () => void; since: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param backlog messages in the queue at which answers are delayed; 0: never */
  constructor(queue: Pick<MessageQueue, 'depth'>, backlog: number, count: IngestCounters) {
    this.#queue = queue;
    this.#backlog = backlog;
    this.#count = count;
  }

  /** Answers now, or later when the queue is shorter. */
  pass(answer: () => void): void {
    if (this.#backlog === 0 || this.#count.backlog < this.#backlog) {
      answer();
      return;
    }
    this.#count.throttled++;
    this.#held.push({ answer, since: performance.now() });
    this.#timer ??= setTimeout(this.#look, LOOK_MS);
  }

  /** Gives answers by the new depth of the queue. */
  release(): void {
    if (this.#held.length === 0) return;
    const due = performance.now() - LONGEST_MS;
    const isShort = this.#count.backlog < this.#backlog;
    while (this.#held[0] !== undefined && (isShort || this.#held[0].since <= due))
      this.#held.shift()?.answer();
  }

  /** Gives all answers. */
  stop(): void {
    clearTimeout(this.#timer);
    for (const { answer } of this.#held.splice(0)) answer();
  }

  readonly #look = async (): Promise<void> => {
    // While the queue is away the last depth counts, and answers are given after LONGEST_MS.
    this.#count.backlog = await this.#queue.depth().catch(() => this.#count.backlog);
    this.release();
    this.#timer = this.#held.length > 0 ? setTimeout(this.#look, LOOK_MS) : undefined;
  };
}
