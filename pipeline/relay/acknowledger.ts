import { setTimeout as sleep } from 'node:timers/promises';
import { CALL_ENTRIES, type MessageQueue } from '../queue/queue.ts';
import type { HeldEntry } from './held.ts';
import type { Troubles } from './troubles.ts';

/** ms to gather acknowledgements: by the dozen they cost the queue a third less CPU a message. */
const GATHER_MS = 5;
const RETRY_MS = 100;

/**
 * Acknowledges done entries to the queue, those of a few ms in one round trip. Nobody waits for it, as the messages have
 * arrived. It holds no more than the relay does.
 */
export class Acknowledger {
  readonly #queue: Pick<MessageQueue, 'acknowledge' | 'shardOf' | 'shardName'>;
  readonly #gathers: boolean;
  readonly #onDone: (entries: readonly HeldEntry[]) => void;
  readonly #troubles: Pick<Troubles, 'failed' | 'done'>;
  #waiting: HeldEntry[] = [];
  #underWay = false;

  /**
   * @param gathers false: acknowledges each entry at once
   * @param onDone called when these have left the queue
   */
  constructor(
    queue: Pick<MessageQueue, 'acknowledge' | 'shardOf' | 'shardName'>,
    gathers: boolean,
    onDone: (entries: readonly HeldEntry[]) => void,
    troubles: Pick<Troubles, 'failed' | 'done'>,
  ) {
    this.#queue = queue;
    this.#gathers = gathers;
    this.#onDone = onDone;
    this.#troubles = troubles;
  }

  add(entry: HeldEntry): void {
    this.#waiting.push(entry);
    if (this.#underWay) return;
    this.#underWay = true;
    if (this.#gathers) setTimeout(() => this.#send(), GATHER_MS);
    else void this.#send();
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch =
        this.#waiting.length <= CALL_ENTRIES ? this.#waiting : this.#waiting.slice(0, CALL_ENTRIES);
      this.#waiting = this.#waiting.slice(batch.length);
      const failed: HeldEntry[] = [];
      // A shard whose node is away holds up no other.
      const parts = Map.groupBy(batch, ({ entry }) => this.#queue.shardOf(entry.id));
      const acknowledge = async ([shard, part]: [number, readonly HeldEntry[]]) => {
        const name = this.#queue.shardName(shard);
        try {
          await this.#queue.acknowledge(part.map(({ entry }) => entry));
          this.#troubles.done('acknowledgements', name);
          this.#onDone(part);
        } catch (error) {
          failed.push(...part);
          this.#troubles.failed('acknowledgements', error as Error, { name });
        }
      };
      await Promise.all([...parts].map(acknowledge));
      if (failed.length > 0) {
        // The queue is away. Keep them: otherwise another relay would deliver them again.
        this.#waiting = this.#waiting.concat(failed);
        await sleep(RETRY_MS);
        continue;
      }
      if (this.#waiting.length > 0 && this.#waiting.length < CALL_ENTRIES) await sleep(GATHER_MS);
    }
    this.#underWay = false;
  }
}
