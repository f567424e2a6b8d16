import { isUtf8 } from 'node:buffer';
import { Transform } from 'node:stream';
import type { FastifyReply, FastifyRequest, onRequestHookHandler, preParsingHookHandler } from 'fastify';
import type { Durations } from '../common/durations.ts';
import { formatStamps } from '../common/hops.ts';
import { explainRedis } from '../queue/problems.ts';
import type { Queue } from '../queue/queue.ts';
import type { Trace } from '../queue/trace.ts';
import { traceOf } from '../queue/trace-context.ts';
import { Admission, type Limits } from './admission.ts';
import type { IngestCounters } from './counters.ts';
import { elementsOf } from './elements.ts';
import { MessageCheck } from './message.ts';
import { Outbox } from './outbox.ts';
import { bodyTooLarge, malformed, notJson, type Refusal, unauthorized, unavailable } from './refusal.ts';
import { Throttle } from './throttle.ts';
import type { Tokens } from './tokens.ts';
import { announcedLength } from './unread.ts';

export interface IntakeOptions {
  queue: Pick<Queue, 'append' | 'depth' | 'ready'>;
  /** The reference clock, µs. Without it messages carry no stamps. */
  now: (() => number) | undefined;
  tokens: Pick<Tokens, 'accept'>;
  /** Limits beyond which requests get 503. */
  limits: Limits;
  /** Messages in the queue at which answers are delayed; 0: never. */
  throttleBacklog: number;
  /** ms to gather messages for a write. */
  lingerMs: number;
  /** The most bytes of a request body. */
  bodyLimit: number;
  /** The most messages of a batch. */
  batchLimit: number;
  /** Where a message has its id: `id`, or a path like `meta.id`. */
  idKey: string;
  /** Called with each message that goes to the queue. */
  trace?: Pick<Trace, 'note'> | undefined;
  /** The intake updates them. */
  counters: IngestCounters;
  /** Of each message, from request to queue; nothing without stamps. */
  durations: Pick<Durations, 'add'>;
  /** Why this Redis must not get messages; undefined: it may. */
  objection?: () => string | undefined;
  /** Called when Redis refuses messages, with the reason, and with undefined when it takes them again. */
  onTrouble?: (reason: string | undefined) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** When it was first seen, µs of the reference clock. */
    received: number;
    /** Bytes that it holds (admission.ts); undefined: it was not admitted, or is released. */
    held: number | undefined;
  }
}

/** Admits requests, checks their bodies, and answers 202 after Redis has acknowledged the write. */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #check: MessageCheck;
  readonly #admission: Admission;
  readonly #throttle: Throttle;
  readonly #outbox: Outbox<FastifyReply>;
  /** Why Redis did not take the last write. */
  #trouble: string | undefined;

  constructor(options: IntakeOptions) {
    const { queue, limits, counters, objection, onTrouble } = options;
    this.#options = options;
    this.#check = new MessageCheck(options.idKey, options.batchLimit);
    this.#admission = new Admission(queue, limits, counters, objection);
    this.#throttle = new Throttle(queue, options.throttleBacklog, counters);
    this.#outbox = new Outbox(queue, counters, options.lingerMs, {
      written: (depth) => {
        this.#admission.written(depth);
        this.#throttle.release();
        if (this.#trouble !== undefined) onTrouble?.(undefined);
        this.#trouble = undefined;
      },
      failed: (error) => {
        const reason = `Redis did not take it: ${explainRedis(error)}`;
        this.#admission.failed(reason);
        if (reason !== this.#trouble) onTrouble?.(reason);
        this.#trouble = reason;
      },
      settled: (reply, messages, error) => {
        if (error !== undefined) {
          reply.send(unavailable(this.#trouble as string, 1));
          return;
        }
        counters.accepted += messages;
        this.#throttle.pass(() => {
          this.release(reply.request);
          reply.code(202).send({ accepted: messages });
        });
      },
    });
  }

  start(): void {
    this.#admission.start();
  }

  stop(): void {
    this.#admission.stop();
    this.#throttle.stop();
  }

  /** Why no messages should be sent here now. */
  unready(): Refusal | undefined {
    return this.#admission.unready();
  }

  /** `onRequest`: admits a request before its body is read, or refuses it. */
  readonly enter: onRequestHookHandler = (request, _reply, done) => {
    request.received = this.#options.now?.() ?? 0;
    const { tokens, bodyLimit } = this.#options;
    const length = announcedLength(request.raw) ?? 0;
    if (!tokens.accept(request.headers.authorization)) return done(unauthorized());
    if (length > bodyLimit) return done(bodyTooLarge(bodyLimit));
    const refusal = this.#admission.refusal(1) ?? this.#admission.enter(length);
    if (refusal === undefined) request.held = length;
    done(refusal);
  };

  /** `preParsing`: counts the bytes of a body without an announced length. */
  readonly count: preParsingHookHandler = (request, _reply, body, done) => {
    if (announcedLength(request.raw) !== undefined) return done(null, body);
    const transform: Transform['_transform'] = (chunk, _encoding, next) => {
      // It is answered already: drop the rest.
      if (request.held === undefined) return next();
      const refusal = this.#admission.hold(chunk.length);
      if (refusal === undefined) request.held += chunk.length;
      next(refusal, chunk);
    };
    const counted = new Transform({ transform });
    // Fastify listens for errors only until it has answered.
    counted.on('error', () => {});
    body.on('error', (error) => counted.destroy(error));
    done(null, body.pipe(counted));
  };

  /** `POST /messages` */
  readonly one = (request: FastifyRequest, reply: FastifyReply): void => {
    const body = textOf(request.body);
    const message = this.#check.message(parse(body), body.length);
    this.#admit(1);
    this.#options.trace?.note(message);
    const stamps = this.#stamps(request, 1);
    this.#outbox.add(reply, [{ body, target: message.target, stamps, trace: traceOf(request.headers) }]);
  };

  /** `POST /messages/batch` */
  readonly batch = (request: FastifyRequest, reply: FastifyReply): void => {
    const body = textOf(request.body);
    const messages = this.#check.batch(parse(body), body.length);
    this.#admit(messages.length);
    const stamps = this.#stamps(request, messages.length);
    const trace = traceOf(request.headers);
    if (this.#options.trace !== undefined) {
      for (const message of messages) this.#options.trace.note(message);
    }
    const bodies = elementsOf(body);
    this.#outbox.add(
      reply,
      messages.map(({ target }, i) => ({ body: bodies[i] as string, target, stamps, trace })),
    );
  };

  /** Releases a request before its answer. */
  release(request: FastifyRequest): void {
    if (request.held === undefined) return;
    this.#admission.release(request.held);
    request.held = undefined;
  }

  #admit(messages: number): void {
    const refusal = this.#admission.refusal(messages);
    if (refusal !== undefined) throw refusal;
  }

  /** The stamps of messages that are ready to go: what comes after is Redis' time, and the queue's. */
  #stamps(request: FastifyRequest, messages: number): string {
    const { now, durations } = this.#options;
    if (now === undefined) return '';
    const queued = now();
    durations.add(queued - request.received, messages);
    return formatStamps(request.received, queued);
  }
}

/** Throws a {@link Refusal} unless the body is a text. */
function textOf(body: unknown): string {
  // Fastify accepts a request with neither type nor body.
  if (!Buffer.isBuffer(body)) throw notJson();
  if (body.length === 0) throw malformed('', 'is empty');
  // RFC 8259, 8.1: JSON is UTF-8. Decoding would silently repair other bytes.
  if (!isUtf8(body)) throw malformed('', 'is not JSON: the bytes are not UTF-8');
  return body.toString();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed('', `is not JSON: ${(error as Error).message}`);
  }
}
