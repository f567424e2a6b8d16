import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection, QueueOptions } from './connection.ts';
import { keysOf } from './keys.ts';
import { type Claim, type Entry, messagesOf } from './queue.ts';
import { StreamQueue } from './stream.ts';

const RETRY_MS = 50;
const RETRY_MAX_MS = 2000;
const FIRST = '-';

/** One shard of a queue, and what a relay has of it. */
export class Shard {
  readonly index: number;
  readonly stream: StreamQueue;
  readonly lease: string;
  /** Until when the lease is ours, on the monotonic clock, ms; 0: it is not. */
  until = 0;
  /** Somebody else is to have it: nothing more is read, and it is given up when nothing of it is held. */
  leaving = false;
  /** Messages in it, as last reported. */
  depth = 0;
  /** Entries that were deleted while they were held, and are not reported yet. */
  deleted = 0;
  /** What Redis has handed out and the relay has not asked for yet. */
  readonly #read: Entry[] = [];
  /** What the relay has. */
  readonly #held = new Set<string>();
  #reading: Promise<void> | undefined;
  /** Entries may have been handed to us on a connection that broke. */
  #unseen = false;
  /** From where on others may have left entries, which go before new ones; undefined: nobody has. */
  #inherits: string | undefined;
  #failures = 0;
  /** Why it could not be read the last time; undefined: it could. */
  failure: Error | undefined;
  /** The group may know us as a consumer. */
  #known = false;

  constructor(options: QueueOptions, index: number, shared: Connection) {
    const { lease, ...keys } = keysOf(index);
    this.index = index;
    this.lease = lease;
    this.stream = new StreamQueue(options, keys, shared);
  }

  get ours(): boolean {
    return this.until > performance.now();
  }

  get idle(): boolean {
    return this.#held.size + this.#read.length === 0 && this.#reading === undefined;
  }

  /** What the relay has of it. */
  get held(): readonly string[] {
    return [...this.#held];
  }

  /** The lease is ours now. Whoever had it before works on nothing any more. */
  begin(): void {
    this.leaving = false;
    this.#inherits = FIRST;
  }

  /** Begins to read up to `count` messages, unless that is under way or some are there; `then` is called when it is over. */
  read(consumer: string, count: number, then: () => void): void {
    if (this.#reading !== undefined || this.#read.length > 0 || this.leaving || !this.ours) return;
    this.#known = true;
    this.#reading = this.#fetch(consumer, count).finally(() => {
      this.#reading = undefined;
      then();
    });
  }

  async #fetch(consumer: string, count: number): Promise<void> {
    try {
      const { entries, deleted } = await this.#next(consumer, count);
      this.#failures = 0;
      this.failure = undefined;
      this.deleted += deleted;
      // Another relay finds them when the lease went to it meanwhile.
      if (this.until > 0) this.#read.push(...entries);
    } catch (error) {
      this.failure = error as Error;
      // A Redis that lost its data lost the group too.
      this.#unseen = true;
      await this.stream.join().catch(() => {});
      await sleep(Math.min(RETRY_MS * 2 ** this.#failures++, RETRY_MAX_MS));
    }
  }

  /** New entries come after all that were handed out before: so the order within a target stays. */
  async #next(consumer: string, count: number): Promise<Claim> {
    const holds = (id: string) => this.#held.has(id);
    if (this.#inherits !== undefined) {
      const { next, ...claim } = await this.stream.inherit(consumer, this.#inherits, count, holds);
      this.#inherits = next;
      return claim;
    }
    if (!this.#unseen) return this.stream.claim(consumer, count);
    const claim = await this.stream.recoverUnseen(consumer, count, holds);
    this.#unseen = claim.entries.length > 0;
    return claim;
  }

  /** About `count` messages of what was read, oldest first, unless the shard is another relay's. They count as held. */
  take(count: number): Entry[] {
    if (this.until === 0) return [];
    let entries = 0;
    for (let messages = 0; messages < count && entries < this.#read.length; entries++) {
      messages += messagesOf(this.#read.slice(entries, entries + 1));
    }
    const taken = this.#read.splice(0, entries);
    for (const { id } of taken) this.#held.add(id);
    return taken;
  }

  /** What a relay took that did not know yet that its lease was over, without what we have ourselves. */
  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    if (this.#inherits !== undefined) return { entries: [], deleted: 0 };
    const { entries, deleted } = await this.stream.recover(consumer, idleMs, count);
    const read = new Set(this.#read.map(({ id }) => id));
    const fresh = entries.filter(({ id }) => !this.#held.has(id) && !read.has(id));
    for (const { id } of fresh) this.#held.add(id);
    return { entries: fresh, deleted };
  }

  /** The relay has got rid of these. */
  done(ids: readonly string[]): void {
    for (const id of ids) this.#held.delete(id);
  }

  /** So that nobody takes over what was read and waits to be asked for. */
  async renew(consumer: string): Promise<void> {
    const ids = this.#read.map(({ id }) => id);
    if (ids.length > 0) await this.stream.renew(consumer, ids);
  }

  /** The lease went to another relay, who finds what we have read. */
  lost(): void {
    this.until = 0;
    this.#read.length = 0;
  }

  /** What was read and not asked for is the next relay's. */
  async giveBack(): Promise<void> {
    await this.#reading;
    this.#read.length = 0;
  }

  /** Signs off. What the relay still has goes to the next one. */
  async leave(consumer: string): Promise<void> {
    if (!this.#known) return;
    await this.giveBack();
    await this.stream.leave(consumer);
  }
}
