import { setTimeout as sleep } from 'node:timers/promises';
import { CALL_ENTRIES, type MessageQueue } from '../queue/queue.ts';
import type { HeldEntry } from './holdings.ts';
import type { Troubles } from './troubles.ts';

/** ms to gather acknowledgements: by the dozen they cost the queue a third less CPU a message. */
const GATHER_MS = 5;
const RETRY_MS = 100;

interface AcknowledgerOptions {
  queue: Pick<MessageQueue, 'acknowledge' | 'shardOf' | 'shardName'>;
  /** Gathers entries for a round trip; false: acknowledges each at once. */
  gathers: boolean;
  listener: AcknowledgeListener;
  troubles: Pick<Troubles, 'failed' | 'done'>;
}

/** AcknowledgeListener is told of the entries that have left the queue. */
export interface AcknowledgeListener {
  onAcknowledged(entries: readonly HeldEntry[]): void;
}

/**
 * Acknowledges done entries to the queue, those of a few ms in one round trip. Nobody waits for it, as the messages have
 * arrived. It holds no more than the relay does.
 */
export class Acknowledger {
  readonly #options: AcknowledgerOptions;
  #waiting: HeldEntry[] = [];
  #underWay = false;
  #isClosed = false;

  constructor(options: AcknowledgerOptions) {
    this.#options = options;
  }

  add(entry: HeldEntry): void {
    this.#waiting.push(entry);
    if (this.#underWay) return;
    this.#underWay = true;
    if (this.#options.gathers) setTimeout(() => this.#send(), GATHER_MS);
    else void this.#send();
  }

  /** Tries no more. */
  close(): void {
    this.#isClosed = true;
  }

  async #send(): Promise<void> {
    const { queue, listener, troubles } = this.#options;
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const batch =
        this.#waiting.length <= CALL_ENTRIES ? this.#waiting : this.#waiting.slice(0, CALL_ENTRIES);
      this.#waiting = this.#waiting.slice(batch.length);
      const failed: HeldEntry[] = [];
      // A shard whose node is away holds up no other.
      const parts = Map.groupBy(batch, ({ entry }) => queue.shardOf(entry.id));
      const acknowledge = async ([shard, part]: [number, readonly HeldEntry[]]) => {
        const name = queue.shardName(shard);
        try {
          await queue.acknowledge(part.map(({ entry }) => entry));
          troubles.done('acknowledgements', name);
          listener.onAcknowledged(part);
        } catch (error) {
          failed.push(...part);
          troubles.failed('acknowledgements', error as Error, { name });
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
