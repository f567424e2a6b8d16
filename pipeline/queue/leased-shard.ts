import { setTimeout as sleep } from 'node:timers/promises';
import { type Claim, type Entry, messagesOf, NOTHING } from './queue.ts';
import type { Shard } from './shard.ts';

const RETRY_MS = 50;
const RETRY_MAX_MS = 2000;
const FIRST = '-';
/** Redis' codes for a group or a stream that is gone. */
const LOST = /^(NOGROUP|UNBLOCKED) /;

/** A shard that one relay at a time reads, and what this relay has read and holds of it. */
export class LeasedShard {
  readonly name: string | undefined;
  /** The key of its lease. */
  readonly lease: string;
  readonly #shard: Shard;
  /** When our lease ends, ms of the monotonic clock; 0: we have none. */
  until = 0;
  /** We give the shard up: we read no more, and release the lease when we hold no entries. */
  leaving = false;
  /** Entries that were deleted while we held them, not reported yet. */
  #deleted = 0;
  /** Entries that were read and the relay has not taken yet. */
  readonly #read: Entry[] = [];
  /** Ids of entries that the relay holds. */
  readonly #held = new Set<string>();
  #reading: Promise<void> | undefined;
  /** Redis may have given us entries on a connection that broke. */
  #unseen = false;
  /** Where to look for entries of former owners, which go before new ones; undefined: all are taken over. */
  #inherits: string | undefined;
  #failures = 0;
  /** Why the last read that ended failed; undefined: it did not. */
  failure: Error | undefined;
  /** The last read has failed, and the next one has not begun. */
  #isPausing = false;
  #loss: Error | undefined;
  /** The group may know us as a consumer. */
  #known = false;

  constructor(shard: Shard, lease: string) {
    this.#shard = shard;
    this.name = shard.name;
    this.lease = lease;
  }

  get ours(): boolean {
    return this.until > performance.now();
  }

  get idle(): boolean {
    return this.#held.size + this.#read.length === 0 && this.#reading === undefined;
  }

  get held(): readonly string[] {
    return [...this.#held];
  }

  /** Begins a lease: entries of former owners come first. */
  begin(): void {
    this.leaving = false;
    this.#inherits = FIRST;
  }

  /** Begins to read up to `count` messages, unless a read is in progress or entries wait; calls `then` at its end. */
  read(consumer: string, count: number, then: () => void): void {
    if (this.#reading !== undefined || this.#read.length > 0 || this.leaving || !this.ours) return;
    this.#known = true;
    this.#reading = this.#fetch(consumer, count).finally(() => {
      this.#reading = undefined;
      then();
    });
  }

  /** Why no message comes; undefined: they come, or the read in progress will tell. An outage may be over by then. */
  get obstacle(): Error | undefined {
    return this.#isPausing ? this.failure : undefined;
  }

  async #fetch(consumer: string, count: number): Promise<void> {
    this.#isPausing = false;
    try {
      const { entries, deleted } = await this.#next(consumer, count);
      this.#failures = 0;
      this.failure = undefined;
      this.#deleted += deleted;
      // If the lease was lost, the next owner recovers them.
      if (this.until > 0) this.#read.push(...entries);
    } catch (error) {
      this.failure = error as Error;
      this.#isPausing = true;
      if (LOST.test(this.failure.message)) this.#loss = this.failure;
      // A Redis that lost its data lost the group too.
      this.#unseen = true;
      await this.#shard.join().catch(() => {});
      await sleep(Math.min(RETRY_MS * 2 ** this.#failures++, RETRY_MAX_MS));
    }
  }

  /** Returns a loss of the shard's data in Redis once: the next read may succeed before anybody asks for {@link failure}. */
  takeLoss(): Error | undefined {
    const loss = this.#loss;
    this.#loss = undefined;
    return loss;
  }

  /** Reads entries that were delivered before, then new ones: the order within a target stays. */
  async #next(consumer: string, count: number): Promise<Claim> {
    const holds = (id: string) => this.#held.has(id);
    if (this.#inherits !== undefined) {
      const { next, ...claim } = await this.#shard.inherit(consumer, this.#inherits, count, holds);
      this.#inherits = next;
      return claim;
    }
    if (!this.#unseen) return this.#shard.claim(consumer, count);
    const claim = await this.#shard.recoverUnseen(consumer, count, holds);
    this.#unseen = claim.entries.length > 0;
    return claim;
  }

  /** Takes about `count` messages of those read, oldest first; they count as held. Without the lease it takes none. */
  take(count: number): Claim {
    const deleted = this.#deleted;
    this.#deleted = 0;
    if (this.until === 0) return { entries: [], deleted };
    let taken = 0;
    for (let messages = 0; messages < count && taken < this.#read.length; taken++) {
      messages += messagesOf(this.#read.slice(taken, taken + 1));
    }
    const entries = this.#read.splice(0, taken);
    for (const { id } of entries) this.#held.add(id);
    return { entries, deleted };
  }

  /** Recovers entries that a former owner claimed after its lease had ended. It leaves out our own. */
  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    if (this.#inherits !== undefined) return NOTHING;
    const { entries, deleted } = await this.#shard.recover(consumer, idleMs, count).catch((error) => {
      // Some may be ours by now.
      this.#unseen = true;
      throw error;
    });
    const read = new Set(this.#read.map(({ id }) => id));
    const fresh = entries.filter(({ id }) => !this.#held.has(id) && !read.has(id));
    for (const { id } of fresh) this.#held.add(id);
    return { entries: fresh, deleted };
  }

  /** The relay no longer holds these entries. */
  done(ids: Iterable<string>): void {
    for (const id of ids) this.#held.delete(id);
  }

  /** Keeps other relays from recovering entries that wait here. */
  async renew(consumer: string): Promise<void> {
    const ids = this.#read.map(({ id }) => id);
    if (ids.length > 0) await this.#shard.renew(consumer, ids);
  }

  /** Another relay has the lease and recovers what we have read. */
  lost(): void {
    this.until = 0;
    this.#read.length = 0;
  }

  /** Drops entries that were read and not taken: the next owner recovers them. */
  async giveBack(): Promise<void> {
    await this.#reading;
    this.#read.length = 0;
  }

  /** Signs off. The next owner recovers what the relay still holds. */
  async signOff(consumer: string): Promise<void> {
    if (!this.#known) return;
    await this.giveBack();
    await this.#shard.signOff(consumer);
  }
}
