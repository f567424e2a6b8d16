import type { Problem } from '../common/readiness.ts';
import { firstOf, named, type Trouble } from '../common/trouble.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { IngestCounters } from './counters.ts';
import { type HttpError, unavailable } from './http-error.ts';

export interface Limits {
  /** Open requests. */
  requests: number;
  /** Bytes of the bodies of open requests. */
  bytes: number;
  /** Messages in the queue, including those being written. */
  backlog: number;
}

type AdmissionQueue = Pick<MessageQueue, 'away' | 'depth' | 'explain' | 'isDisconnection'>;

/** ms between reads of the depth; each write returns it too. */
const REFRESH_MS = 100;
/** ms between the writes that are admitted to learn the depth, which each write returns, while it cannot be read. */
const PROBE_MS = 1000;
/** ms that a failed write counts as a problem: without further requests no write would show that it is over. */
const TROUBLE_MS = 5000;
/** Bounds of Retry-After, s: the time in which the backlog falls by a tenth. */
const SOONEST_S = 1;
const LATEST_S = 10;

/**
 * Admits requests, so that neither the queue nor our memory grows without a bound. It refuses requests at once beyond a
 * limit, and while the queue takes no messages.
 */
export class Admission {
  readonly #queue: AdmissionQueue;
  readonly #limits: Limits;
  readonly #count: IngestCounters;
  readonly #objection: () => Problem | undefined;
  readonly #onUnreadable: (reason: string | undefined) => void;
  /** Why the last write failed, and when. */
  #trouble: (Problem & { at: number }) | undefined;
  /** The last read of the depth failed. */
  #blind = false;
  /** Why the depth cannot be read, though the queue answers; undefined: it can. */
  #unreadable: Problem | undefined;
  /** When the next message is admitted to learn the depth, ms of the monotonic clock. */
  #probe = 0;
  /** Messages a second that leave the queue; too low when other ingests fill it too. */
  #drain = 0;
  #asked = { at: 0, depth: 0, accepted: 0 };
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param objection why the queue must not get messages
   * @param onUnreadable as in the intake
   */
  constructor(
    queue: AdmissionQueue,
    limits: Limits,
    count: IngestCounters,
    objection: () => Problem | undefined = () => undefined,
    onUnreadable: (reason: string | undefined) => void = () => {},
  ) {
    this.#onUnreadable = onUnreadable;
    this.#objection = objection;
    this.#queue = queue;
    this.#limits = limits;
    this.#count = count;
  }

  /** Why `messages` more cannot be taken now; undefined: they can. */
  refusal(messages: number): HttpError | undefined {
    const obstacle = this.#obstacle(messages);
    return obstacle && unavailable(obstacle.problem, obstacle.retryAfterS);
  }

  /** Why no messages are taken now. */
  problems(): Problem[] {
    const [trouble, obstacle] = [this.#recent, this.#obstacle(1)];
    const all = obstacle?.problem === trouble?.problem ? [trouble] : [trouble, obstacle];
    if (this.#queue.away === undefined) all.push(this.#unreadable);
    return all.flatMap((each) => (each === undefined ? [] : { problem: each.problem, kind: each.kind }));
  }

  #obstacle(messages: number): (Problem & { retryAfterS: number }) | undefined {
    const { backlog, unanswered } = this.#count;
    const { away } = this.#queue;
    // Some errors make the queue reconnect. They are then the reason, not the connection.
    if (away !== undefined) return { ...(this.#recent ?? away), retryAfterS: SOONEST_S };
    const objection = this.#objection();
    if (objection !== undefined) return { ...objection, retryAfterS: LATEST_S };
    // After a failed write one write tries the queue; other requests do not wait for it.
    if (this.#trouble !== undefined && unanswered > 0) return { ...this.#trouble, retryAfterS: SOONEST_S };
    const depth = backlog + unanswered;
    if (depth + messages <= this.#limits.backlog) return undefined;
    if (this.#blind && unanswered === 0 && performance.now() >= this.#probe) return undefined;
    return {
      problem: `a backlog of ${depth} messages reaches the limit of ${this.#limits.backlog}`,
      kind: 'shared',
      retryAfterS: this.#retryAfterS(depth),
    };
  }

  /** Why the last write failed, if that was not long ago. */
  get #recent(): Problem | undefined {
    const trouble = this.#trouble;
    return trouble !== undefined && performance.now() - trouble.at <= TROUBLE_MS ? trouble : undefined;
  }

  /** Admits a request, or returns why not. {@link release} has to follow, with all its bytes. */
  enter(bytes: number): HttpError | undefined {
    const { requests } = this.#limits;
    if (this.#count.open >= requests) {
      return unavailable(`${requests} requests are open, which is the limit`, SOONEST_S);
    }
    const refusal = this.hold(bytes);
    if (refusal === undefined) this.#count.open++;
    return refusal;
  }

  /** Adds bytes to an admitted request, or returns why not. */
  hold(bytes: number): HttpError | undefined {
    const limit = this.#limits.bytes;
    if (this.#count.held_bytes + bytes > limit) {
      return unavailable(`the bodies of open requests reach the limit of ${limit} bytes`, SOONEST_S);
    }
    this.#count.held_bytes += bytes;
    return undefined;
  }

  release(bytes: number): void {
    this.#count.open--;
    this.#count.held_bytes -= bytes;
  }

  /** Records an acknowledged write and the depth of the queue. */
  written(depth: number): void {
    if (this.#blind) this.#probe = performance.now() + PROBE_MS;
    this.#count.backlog = depth;
    this.#trouble = undefined;
  }

  /** Records a failed write. */
  failed(problem: Problem): void {
    this.#trouble = { ...problem, at: performance.now() };
  }

  start(): void {
    let asking = false;
    const refresh = async () => {
      if (asking) return;
      asking = true;
      try {
        const depth = await this.#queue.depth();
        const now = { at: performance.now(), depth, accepted: this.#count.accepted };
        const { at, depth: before, accepted } = this.#asked;
        this.#drain = ((before + now.accepted - accepted - depth) / (now.at - at)) * 1000;
        this.#asked = now;
        this.#count.backlog = depth;
        this.#blind = false;
        this.#tell(undefined);
      } catch (error) {
        // The next round asks again. That the queue is away shows elsewhere.
        this.#blind = true;
        if (this.#queue.away === undefined && !this.#queue.isDisconnection(error as Error))
          this.#tell(this.#queue.explain(error as Error).problem);
      }
      asking = false;
    };
    void refresh();
    this.#timer = setInterval(refresh, REFRESH_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Says why the depth cannot be read. Messages are taken all the same, so the process stays in the Service. */
  #tell(cause: string | undefined): void {
    const problem = cause && `the backlog cannot be read: ${cause}`;
    if (problem === this.#unreadable?.problem) return;
    this.#unreadable = problem === undefined ? undefined : { problem, kind: 'shared' };
    this.#onUnreadable(problem);
  }

  #retryAfterS(depth: number): number {
    const surplus = depth - 0.9 * this.#limits.backlog;
    const seconds = this.#drain > 0 ? surplus / this.#drain : LATEST_S;
    return Math.min(Math.max(Math.ceil(seconds), SOONEST_S), LATEST_S);
  }
}

/** ms that a failed write is a problem at /readyz: others follow, unless nobody sends. */
const RECENT_MS = 5000;
const RETRY_AFTER_S = 1;

/** Shards whose last write failed: one node of several may be away. Requests for them are refused, and no others. */
export class FailedShards {
  readonly #queue: Pick<MessageQueue, 'away' | 'shardName'>;
  readonly #isBusy: (shard: number) => boolean;
  readonly #trouble: Pick<Trouble, 'begin' | 'end'> | undefined;
  readonly #failed = new Map<number, { name: string; problem: Problem; at: number }>();
  readonly #timers = new Map<number, NodeJS.Timeout>();

  /**
   * @param isBusy whether a write of a shard is under way: after a failure one tries the shard, and others do not wait for it
   * @param trouble of shards that take no messages. What nobody tries any more has no part in it.
   */
  constructor(
    queue: Pick<MessageQueue, 'away' | 'shardName'>,
    isBusy: (shard: number) => boolean,
    trouble?: Pick<Trouble, 'begin' | 'end'>,
  ) {
    this.#queue = queue;
    this.#isBusy = isBusy;
    this.#trouble = trouble;
  }

  /** A queue without shards has one, without a name. */
  failed(shard: number, problem: Problem): void {
    const { away } = this.#queue;
    const name = this.#queue.shardName(shard);
    if (name !== undefined) this.#failed.set(shard, { name, problem, at: performance.now() });
    // The connection logs by itself that the queue is away.
    const afterMs = away === undefined ? 0 : Number.POSITIVE_INFINITY;
    this.#trouble?.begin(problem, { name: name ?? '', part: String(shard), afterMs });
    this.#forgetLater(shard);
  }

  written(shard: number): void {
    this.#failed.delete(shard);
    this.#end(shard);
  }

  /** Ends the part of a shard that nobody has tried for a while; not in an outage, which has not ended. */
  #forgetLater(shard: number): void {
    clearTimeout(this.#timers.get(shard));
    const forget = () => {
      if (this.#isBusy(shard) || this.#queue.away !== undefined) this.#forgetLater(shard);
      else this.#end(shard);
    };
    this.#timers.set(shard, setTimeout(forget, RECENT_MS).unref());
  }

  #end(shard: number): void {
    clearTimeout(this.#timers.get(shard));
    this.#timers.delete(shard);
    this.#trouble?.end(String(shard));
  }

  /** Why messages of these shards cannot be taken; undefined: they can. */
  refusal(shards: Iterable<number>): HttpError | undefined {
    if (this.#failed.size === 0) return undefined;
    for (const shard of shards) {
      const failed = this.#failed.get(shard);
      if (failed !== undefined && this.#isBusy(shard))
        return unavailable(this.named(shard, failed.problem).problem, RETRY_AFTER_S);
    }
    return undefined;
  }

  /** A problem with the name of its shard. */
  named(shard: number, problem: Problem): Problem {
    return named([this.#queue.shardName(shard) ?? ''], problem);
  }

  /** Names the shards that failed not long ago, with the first one's reason; undefined: none did. */
  get problem(): Problem | undefined {
    const now = performance.now();
    return firstOf([...this.#failed.values()].filter(({ at }) => now - at <= RECENT_MS));
  }
}
