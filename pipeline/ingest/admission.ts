import type { Problem } from '../common/readiness.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { IngestCounters } from './counters.ts';
import { type Refusal, unavailable } from './refusal.ts';

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
/** ms that a failed write is a problem: it is one only while others follow, and none does where nobody sends. */
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
  refusal(messages: number): Refusal | undefined {
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
    // After some errors the queue connects anew: they are the reason then.
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
  enter(bytes: number): Refusal | undefined {
    const { requests } = this.#limits;
    if (this.#count.open >= requests) {
      return unavailable(`${requests} requests are open, which is the limit`, SOONEST_S);
    }
    const refusal = this.hold(bytes);
    if (refusal === undefined) this.#count.open++;
    return refusal;
  }

  /** Adds bytes to an admitted request, or returns why not. */
  hold(bytes: number): Refusal | undefined {
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

  /** Says why the depth cannot be read. Messages are taken all the same, so it is no reason to leave the Service. */
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
