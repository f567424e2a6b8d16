import { setTimeout as sleep } from 'node:timers/promises';
import { CALL_ENTRIES, type Claim, type MessageQueue } from '../queue/queue.ts';
import type { Holdings } from './holdings.ts';
import type { Troubles, Work } from './troubles.ts';

const RETRY_MS = 50;
const RETRY_MAX_MS = 2000;
/** ms between looks of a relay that stops, whose grace may be short. */
const STOPPING_LOOK_MS = 20;

export interface ClaimerOptions {
  queue: Pick<MessageQueue, 'claim' | 'recover' | 'recoverUnseen' | 'renew' | 'join'>;
  /** The relay's name in the consumer group. */
  consumer: string;
  /** ms without renewal until another relay may take over an entry. */
  leaseMs: number;
  /** What the relay holds. */
  holdings: Pick<Holdings, 'batches' | 'ids' | 'messages'>;
  listener: ClaimListener;
  /** Hears which work failed, and which was done. */
  troubles: Pick<Troubles, 'failed' | 'done'>;
}

/** ClaimListener says how many messages a relay wants, and gets them. */
export interface ClaimListener {
  /** How many messages to claim next; 0: none. */
  wants(): number;
  onClaim(claim: Claim): void;
}

/** Takes messages from the queue for a relay: new ones, and those of dead relays. Renews the leases of what the relay holds. */
export class Claimer {
  readonly #options: ClaimerOptions;
  readonly #stopping = new AbortController();
  #isClosed = false;
  /** Entries may have been given to us on a connection that broke. */
  #unseen = false;
  #claims: Promise<void> = Promise.resolve();
  #leases: Promise<void> = Promise.resolve();
  #recovery: Promise<void> = Promise.resolve();
  #wanted: PromiseWithResolvers<void> | undefined;

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#claims = this.#claimLoop();
    this.#leases = this.#leaseLoop();
  }

  /** Claims no more. It renews leases as long as the relay holds something. */
  stop(): void {
    this.#stopping.abort();
    this.wake();
  }

  /** Ends without renewing any more, whatever the relay still holds. */
  close(): void {
    this.#isClosed = true;
    this.stop();
  }

  /** Settles when it claims no more, and the queue has answered its last claim. */
  get lastClaim(): Promise<void> {
    return this.#claims;
  }

  /** Settles when it neither claims nor renews any more. */
  get ended(): Promise<unknown> {
    return Promise.all([this.#claims, this.#leases]);
  }

  /** Looks again whether the relay wants messages. */
  wake(): void {
    if (this.#wanted === undefined) return;
    if (!this.#stopping.signal.aborted && this.#options.listener.wants() <= 0) return;
    this.#wanted.resolve();
    this.#wanted = undefined;
  }

  async #claimLoop(): Promise<void> {
    const { queue, consumer, listener, troubles } = this.#options;
    const stopping = this.#stopping.signal;
    let failures = 0;
    while (!stopping.aborted) {
      const size = listener.wants();
      if (size <= 0) {
        this.#wanted = Promise.withResolvers();
        await this.#wanted.promise;
        continue;
      }
      try {
        if (this.#unseen) {
          await this.#recoverUnseen(size);
          continue; // only a claim shows that the queue gives messages again
        }
        listener.onClaim(await queue.claim(consumer, size));
        // mqtt.js writes at the next tick: send these messages before the next claim.
        await new Promise<void>(process.nextTick);
        failures = 0;
        troubles.done('claims');
      } catch (error) {
        troubles.failed('claims', error as Error);
        this.#unseen = true;
        // The queue's server may have lost its data.
        await queue.join().catch(() => {});
        await sleep(Math.min(RETRY_MS * 2 ** failures++, RETRY_MAX_MS));
      }
    }
  }

  /** Takes what was given to us on a connection that broke. */
  #recoverUnseen(size: number): Promise<void> {
    const { queue, consumer, holdings, listener } = this.#options;
    return this.#inTurn(async () => {
      let ids: Set<string> | undefined;
      // Evaluated after the queue has answered.
      const holds = (id: string) => {
        ids ??= holdings.ids();
        return ids.has(id);
      };
      const claim = await queue.recoverUnseen(consumer, size, holds);
      this.#unseen = claim.entries.length > 0;
      listener.onClaim(claim);
    });
  }

  /** Renews leases while it holds entries, and takes over those of dead relays. */
  async #leaseLoop(): Promise<void> {
    const { queue, consumer, leaseMs, holdings, listener, troubles } = this.#options;
    const stopping = this.#stopping.signal;
    while (!stopping.aborted || (holdings.messages > 0 && !this.#isClosed)) {
      let work: Work = 'leases';
      try {
        await this.#renew();
        troubles.done(work);
        work = 'takeovers';
        await this.#inTurn(async () => {
          const size = stopping.aborted ? 0 : listener.wants();
          if (size <= 0) return;
          listener.onClaim(await queue.recover(consumer, leaseMs, size));
          troubles.done(work);
        });
      } catch (error) {
        troubles.failed(work, error as Error);
        // What was taken over may be ours by now.
        this.#unseen = true;
      }
      // `stop` waits for the loop to end.
      if (stopping.aborted) await sleep(Math.min(leaseMs / 4, STOPPING_LOOK_MS));
      else await sleep(leaseMs / 4, undefined, { signal: stopping }).catch(() => {});
    }
  }

  /** Runs recoveries one after the other: each has to know what the last one took. */
  #inTurn(recover: () => Promise<void>): Promise<void> {
    const turn = this.#recovery.then(recover);
    this.#recovery = turn.catch(() => {});
    return turn;
  }

  async #renew(): Promise<void> {
    const { queue, consumer, leaseMs, holdings } = this.#options;
    const now = performance.now();
    for (const batch of holdings.batches) {
      if (now - batch.leased <= leaseMs / 3) continue;
      const ids = batch.entries.filter(({ gone }) => !gone).map(({ entry }) => entry.id);
      for (let i = 0; i < ids.length; i += CALL_ENTRIES)
        await queue.renew(consumer, ids.slice(i, i + CALL_ENTRIES));
      batch.leased = now;
    }
  }
}
