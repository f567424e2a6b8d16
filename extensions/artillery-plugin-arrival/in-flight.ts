/** Follows requests in flight, and reports to the recorder when each is sent, and its outcome. */
import type { IncomingMessage } from 'node:http';
import { decode } from './answer.ts';
import { answerOf, failureOf } from './outcome.ts';
import { isFollowed, type RequestParams } from './request.ts';
import { monotonic } from './thread.ts';
import { UPGRADED } from './upgrade.ts';

/** A request that Artillery does not settle counts as in flight for this long beyond its time-out, µs. */
const GRACE = 2e6;

interface Request {
  n: number;
  params: RequestParams;
  /** The time at which it was sent, µs; absent: it is about to be sent. */
  sent?: number;
}

/** The events by which Artillery says what becomes of requests, and takes metrics. */
export interface Events {
  on(name: string, listener: (...args: never[]) => void): void;
  emit(name: string, ...args: unknown[]): void;
}

export class InFlight {
  /** The time that a request has for its whole answer, µs. */
  readonly #timeout: number;
  readonly #send: (line: object) => void;
  readonly #contentOf: ((params: RequestParams) => string | undefined) | undefined;
  /** The requests in flight, by Artillery's id. */
  readonly #requests = new Map<string, Request>();
  #lastActivity = 0;

  /**
   * @param timeout the time-out of a request, s; infinite: Artillery and the recorder see to it
   * @param contentOf the message in a request, if the recorder compares it with what arrives
   */
  constructor(
    timeout: number,
    send: (line: object) => void,
    contentOf?: (params: RequestParams) => string | undefined,
  ) {
    this.#timeout = timeout * 1e6;
    this.#send = send;
    this.#contentOf = contentOf;
  }

  /** The moment at which a request was last sent or settled, µs. */
  get lastActivity(): number {
    return this.#lastActivity;
  }

  /** Tells whether all requests have their outcome. */
  get settled(): boolean {
    return this.#requests.size === 0;
  }

  /** Tells whether a request may still get its outcome. The recorder calls what is not settled in time unknown. */
  get awaited(): boolean {
    const past = monotonic() - this.#timeout - GRACE;
    return [...this.#requests.values()].some(({ sent }) => sent !== undefined && sent > past);
  }

  /** Adds a request that Artillery is about to send. */
  add(n: number, params: RequestParams): void {
    this.#requests.set(params.uuid, { n, params });
  }

  /**
   * Records when each request is sent and answered, by Artillery's events. It emits none for most failures, whose hook is
   * `onError`.
   */
  watch(events: Events): void {
    events.on('trace:http:request', (params: RequestParams, uuid: string) => {
      const request = this.#requests.get(uuid);
      if (request === undefined || request.sent !== undefined) return; // a redirect
      request.sent = this.#now();
      const body = this.#contentOf?.(params);
      this.#send({ sent: request.n, at_us: request.sent, ...(body !== undefined && { body }) });
    });
    events.on('trace:http:response', (answer: IncomingMessage, uuid: string) =>
      this.#onResponse(answer, uuid),
    );
  }

  /** A hook `onError` of a scenario, which reports a failure. */
  readonly onError = (
    error: NodeJS.ErrnoException,
    { uuid }: RequestParams,
    _context: unknown,
    _events: Events,
    next: () => void,
  ): void => {
    const request = this.#requests.get(uuid);
    if (request !== undefined && request.sent === undefined)
      this.#send({ unsent: request.n, message: error.message });
    this.settle(uuid, error.code === UPGRADED ? answerOf(101) : failureOf(error));
    next();
  };

  /** Reports the outcome of a request once. The recorder drops a request that was never sent. */
  settle(uuid: string, outcome: object): void {
    const request = this.#requests.get(uuid);
    this.#requests.delete(uuid);
    if (request?.sent !== undefined) this.#send({ settled: request.n, at_us: this.#now(), ...outcome });
  }

  /** Follows an answer to its end. Artillery limits the time to its headers only. */
  #onResponse(answer: IncomingMessage, uuid: string): void {
    const request = this.#requests.get(uuid);
    if (request === undefined) return;
    if (Number.isFinite(this.#timeout)) this.#limit(request, answer, uuid);
    answer.once('end', () => {
      if (!isFollowed(answer, request.params)) this.settle(uuid, answerOf(answer.statusCode));
    });
    decode(answer, request.params);
  }

  #limit(request: Request, answer: IncomingMessage, uuid: string): void {
    const late = (request.sent ?? 0) + this.#timeout;
    const limit = setTimeout(
      () => {
        const message = `no complete answer within ${this.#timeout / 1e6} s`;
        this.settle(uuid, { error: 'timeout', message });
        answer.destroy(new Error(message)); // Artillery waits no longer either
      },
      Math.max(0, (late - monotonic()) / 1000),
    );
    answer.once('close', () => clearTimeout(limit));
    answer.once('end', () => clearTimeout(limit));
  }

  #now(): number {
    this.#lastActivity = monotonic();
    return Math.floor(this.#lastActivity);
  }
}
