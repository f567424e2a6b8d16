import { setTimeout as sleep } from 'node:timers/promises';
import type { Queue } from '../queue/queue.ts';

const RETRY_MS = 100;
/** Redis' Lua takes fewer than 8,000 arguments. */
const AT_ONCE = 1000;

/**
 * Tells the queue which messages are done. What comes in while one round trip is under way goes out with the
 * next: single messages at low load, large batches at high load, and no timer in between.
 */
export class Acknowledger {
  readonly #queue: Pick<Queue, 'acknowledge'>;
  readonly #onDone: (ids: readonly string[]) => void;
  #waiting: string[] = [];
  #underWay = false;

  /** @param onDone called when these have left the queue. */
  constructor(queue: Pick<Queue, 'acknowledge'>, onDone: (ids: readonly string[]) => void) {
    this.#queue = queue;
    this.#onDone = onDone;
  }

  add(id: string): void {
    this.#waiting.push(id);
    if (this.#underWay) return;
    this.#underWay = true;
    // With this turn's other deliveries.
    setImmediate(() => this.#send());
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const ids = this.#waiting.splice(0, AT_ONCE);
      try {
        await this.#queue.acknowledge(ids);
        this.#onDone(ids);
      } catch {
        // Redis is away. They are delivered: forgetting them now would deliver them twice.
        this.#waiting = ids.concat(this.#waiting);
        await sleep(RETRY_MS);
      }
    }
    this.#underWay = false;
  }
}
