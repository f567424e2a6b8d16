import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatStamps } from '../hops.ts';
import { explainRedis } from '../queue/problems.ts';
import type { Message, Queue } from '../queue/queue.ts';
import type { Trace } from '../queue/trace.ts';
import { Admission, type Limits } from './admission.ts';
import { accepted, refused } from './answer.ts';
import { announcedLength, readBody } from './body.ts';
import type { IngestCounters } from './counters.ts';
import { MessageCheck } from './message.ts';
import { Outbox } from './outbox.ts';
import { malformed, Refusal, tooLarge, unauthorized, unavailable } from './refusal.ts';
import type { Tokens } from './tokens.ts';

export interface IntakeOptions {
  queue: Pick<Queue, 'append' | 'depth' | 'ready'>;
  /** The reference clock, µs. Without it messages carry no stamps. */
  now: (() => number) | undefined;
  tokens: Pick<Tokens, 'accept'>;
  /** Beyond them requests are answered 503. */
  limits: Limits;
  /** Bytes of a request body. */
  bodyLimit: number;
  /** Messages of a batch. */
  batchLimit: number;
  /** Where a message has its id: `id`, or a path like `meta.id`. */
  idKey: string;
  /** Is told of each message that goes to the queue. */
  trace?: Pick<Trace, 'note'> | undefined;
  /** Kept up to date by the intake. */
  counters: IngestCounters;
  /** Why this Redis must not be given messages, or undefined when it may. */
  objection?: () => string | undefined;
  /** Redis refuses our messages, with the reason in words; or, undefined, takes them again. */
  onTrouble?: (reason: string | undefined) => void;
  /** An error of ours: answered 500, and told here. */
  onError: (error: Error) => void;
}

/** A request with messages, from its head to its answer. */
interface Exchange {
  readonly response: ServerResponse;
  /** When it was first seen, µs of the reference clock. */
  readonly received: number;
  /** Bytes that it holds of what admission.ts allows. */
  held: number;
}

/** What is to be queued of a body that came at `received`. */
type Reader = (body: string, received: number) => Message[];

/** `Content-Type` of the requests, whatever its parameters: RFC 8259 knows none. */
const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i;

/**
 * Takes messages from Node's own requests, and answers them: 202 once Redis has acknowledged the write. Nothing
 * of a framework is needed on this way, and each microsecond of it is one of every message.
 */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #check: MessageCheck;
  readonly #admission: Admission;
  readonly #outbox: Outbox<Exchange>;
  /** Why Redis did not take the last write. */
  #trouble: string | undefined;

  constructor(options: IntakeOptions) {
    const { queue, limits, counters, objection, onTrouble } = options;
    this.#options = options;
    this.#check = new MessageCheck(options.idKey, options.batchLimit);
    this.#admission = new Admission(queue, limits, counters, objection);
    this.#outbox = new Outbox(queue, counters, {
      written: (depth) => {
        this.#admission.written(depth);
        if (this.#trouble !== undefined) onTrouble?.(undefined);
        this.#trouble = undefined;
      },
      failed: (error) => {
        const reason = `Redis did not take it: ${explainRedis(error)}`;
        this.#admission.failed(reason);
        if (reason !== this.#trouble) onTrouble?.(reason);
        this.#trouble = reason;
      },
      settled: (exchange, messages, error) => {
        this.#admission.leave(exchange.held);
        if (error !== undefined) {
          this.refuse(exchange.response, unavailable(this.#trouble as string, 1));
          return;
        }
        counters.accepted += messages;
        accepted(exchange.response, messages);
      },
    });
  }

  start(): void {
    this.#admission.start();
  }

  stop(): void {
    this.#admission.stop();
  }

  /** Why no messages should be sent here now. */
  unready(): Refusal | undefined {
    return this.#admission.unready();
  }

  /** `POST /messages` */
  readonly one = (request: IncomingMessage, response: ServerResponse): void => {
    this.#take(request, response, this.#message);
  };

  /** `POST /messages/batch` */
  readonly batch = (request: IncomingMessage, response: ServerResponse): void => {
    this.#take(request, response, this.#messages);
  };

  /** Answers with a refusal, or with 500 when it is none, and counts it. */
  refuse(response: ServerResponse, error: Error & { statusCode?: number }): void {
    const { counters, onError } = this.#options;
    const status = error.statusCode ?? 500;
    if (status === 503) counters.unavailable++;
    else if (status < 500) counters.refused++;
    else {
      counters.failed++;
      onError(error);
    }
    refused(response, status, error);
  }

  /** @param read what is to be queued of a body; throws a {@link Refusal} when nothing is. */
  #take(request: IncomingMessage, response: ServerResponse, read: Reader): void {
    const received = this.#options.now?.() ?? 0;
    const announced = announcedLength(request);
    const refusal = this.#enter(request, announced ?? 0);
    if (refusal !== undefined) {
      this.refuse(response, refusal);
      return;
    }
    const exchange: Exchange = { response, received, held: announced ?? 0 };
    const more = announced === undefined ? (bytes: number) => this.#hold(exchange, bytes) : undefined;
    readBody(request, more, (error, text) => {
      try {
        if (error !== null) throw error;
        this.#outbox.add(exchange, read(text as string, received));
      } catch (problem) {
        this.#admission.leave(exchange.held);
        this.refuse(response, problem as Error);
      }
    });
  }

  /** Lets a request in, or says why not. */
  #enter(request: IncomingMessage, length: number): Refusal | undefined {
    const { tokens, bodyLimit } = this.#options;
    const { authorization, 'content-type': type } = request.headers;
    if (!tokens.accept(authorization)) return unauthorized();
    if (length > bodyLimit) return this.#tooLarge();
    const refusal = this.#admission.refusal(1);
    if (refusal !== undefined) return refusal;
    if (type !== 'application/json' && !JSON_TYPE.test(type ?? '')) {
      return new Refusal(415, 'the content type is not application/json');
    }
    return this.#admission.enter(length);
  }

  /** A body that did not announce its length grows. */
  #hold(exchange: Exchange, bytes: number): Refusal | undefined {
    if (exchange.held + bytes > this.#options.bodyLimit) return this.#tooLarge();
    const refusal = this.#admission.hold(bytes);
    if (refusal === undefined) exchange.held += bytes;
    return refusal;
  }

  #tooLarge(): Refusal {
    return tooLarge(`the body exceeds the limit of ${this.#options.bodyLimit} bytes`);
  }

  readonly #message: Reader = (body, received) => {
    const message = this.#check.message(parse(body), body.length);
    this.#admit(1);
    this.#options.trace?.note(message);
    return [{ body, target: message.target, stamps: this.#stamps(received) }];
  };

  readonly #messages: Reader = (body, received) => {
    const messages = this.#check.batch(parse(body), body.length);
    this.#admit(messages.length);
    const stamps = this.#stamps(received);
    const { trace } = this.#options;
    if (trace !== undefined) for (const message of messages) trace.note(message);
    return messages.map((message) => ({ body: JSON.stringify(message), target: message.target, stamps }));
  };

  #admit(messages: number): void {
    const refusal = this.#admission.refusal(messages);
    if (refusal !== undefined) throw refusal;
  }

  /** The stamps of a message that is ready to go: what comes after is Redis' time, and the queue's. */
  #stamps(received: number): string {
    const { now } = this.#options;
    return now === undefined ? '' : formatStamps(received, now());
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed('', `is not JSON: ${(error as Error).message}`);
  }
}
