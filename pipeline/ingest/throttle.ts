import type { Queue } from '../queue/queue.ts';
import type { IngestCounters } from './counters.ts';

/** How often the depth is asked for while answers are held, ms: no write may come meanwhile that reports it. */
const LOOK_MS = 1;
/** An answer is held for so long at most, ms. */
const LONGEST_MS = 100;

/**
 * Holds answers back while the queue is deep. A client that waits for its answer before it sends again then sends no
 * faster than the relays drain. The messages are in the queue already, so their arrival is not delayed.
 */
export class Throttle {
  readonly #queue: Pick<Queue, 'depth'>;
  readonly #backlog: number;
  readonly #count: IngestCounters;
  /** Answers that are held, the oldest first. */
  readonly #held: { answer: () => void; since: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param backlog messages in the queue from which on answers are held; 0: none is */
  constructor(queue: Pick<Queue, 'depth'>, backlog: number, count: IngestCounters) {
    this.#queue = queue;
    this.#backlog = backlog;
    this.#count = count;
  }

  /** Answers now, or when the queue is shorter. */
  pass(answer: () => void): void {
    if (this.#backlog === 0 || this.#count.backlog < this.#backlog) {
      answer();
      return;
    }
    this.#count.throttled++;
    this.#held.push({ answer, since: performance.now() });
    this.#timer ??= setTimeout(this.#look, LOOK_MS);
  }

  /** The depth of the queue is known anew. */
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
    // Without an answer of Redis the last depth stands, and an answer is given when it has been held for long enough.
    this.#count.backlog = await this.#queue.depth().catch(() => this.#count.backlog);
    this.release();
    this.#timer = this.#held.length > 0 ? setTimeout(this.#look, LOOK_MS) : undefined;
  };
}
