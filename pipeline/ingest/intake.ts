import { isUtf8 } from 'node:buffer';
import { Transform } from 'node:stream';
import type { FastifyReply, FastifyRequest, onRequestHookHandler, preParsingHookHandler } from 'fastify';
import type { Durations } from '../common/durations.ts';
import { formatStamps } from '../common/hops.ts';
import { explainRedis } from '../queue/problems.ts';
import type { Queue } from '../queue/queue.ts';
import type { Trace } from '../queue/trace.ts';
import { Admission, type Limits } from './admission.ts';
import type { IngestCounters } from './counters.ts';
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
  /** Beyond them requests are answered 503. */
  limits: Limits;
  /** Messages in the queue from which on answers are held back; 0: never. */
  throttleBacklog: number;
  /** Bytes of a request body. */
  bodyLimit: number;
  /** Messages of a batch. */
  batchLimit: number;
  /** Where a message has its id: `id`, or a path like `meta.id`. */
  idKey: string;
  /** Called with each message that goes to the queue. */
  trace?: Pick<Trace, 'note'> | undefined;
  /** Kept up to date by the intake. */
  counters: IngestCounters;
  /** Of each message, from request to queue; nothing without stamps. */
  durations: Pick<Durations, 'add'>;
  /** Why this Redis must not be given messages, or undefined when it may. */
  objection?: () => string | undefined;
  /** Redis refuses our messages, with the reason in words; or, undefined, takes them again. */
  onTrouble?: (reason: string | undefined) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** When it was first seen, µs of the reference clock. */
    received: number;
    /** Bytes that it holds of what admission.ts allows; undefined: it was not let in, or has left. */
    held: number | undefined;
  }
}

/** Takes messages: lets requests in, checks their bodies, and answers 202 once Redis has acknowledged the write. */
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
    this.#outbox = new Outbox(queue, counters, {
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
          this.leave(reply.request);
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

  /** `onRequest`: lets a request in before anything of its body is read, or says why not. */
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

  /** `preParsing`: a body that did not announce its length is counted as it grows. */
  readonly count: preParsingHookHandler = (request, _reply, body, done) => {
    if (announcedLength(request.raw) !== undefined) return done(null, body);
    const transform: Transform['_transform'] = (chunk, _encoding, next) => {
      // It is answered: what comes is thrown away.
      if (request.held === undefined) return next();
      const refusal = this.#admission.hold(chunk.length);
      if (refusal === undefined) request.held += chunk.length;
      next(refusal, chunk);
    };
    const counted = new Transform({ transform });
    // Fastify listens until it has answered, and a client may go later.
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
    this.#outbox.add(reply, [{ body, target: message.target, stamps: this.#stamps(request, 1) }]);
  };

  /** `POST /messages/batch` */
  readonly batch = (request: FastifyRequest, reply: FastifyReply): void => {
    const body = textOf(request.body);
    const messages = this.#check.batch(parse(body), body.length);
    this.#admit(messages.length);
    const stamps = this.#stamps(request, messages.length);
    const { trace } = this.#options;
    if (trace !== undefined) for (const message of messages) trace.note(message);
    this.#outbox.add(
      reply,
      messages.map((message) => ({ body: JSON.stringify(message), target: message.target, stamps })),
    );
  };

  /** A request is about to be answered, and holds nothing from then on. */
  leave(request: FastifyRequest): void {
    if (request.held === undefined) return;
    this.#admission.leave(request.held);
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
    for (let i = 0; i < messages; i++) durations.add(queued - request.received);
    return formatStamps(request.received, queued);
  }
}

/** Throws a {@link Refusal} unless the body is a text. */
function textOf(body: unknown): string {
  // Fastify lets a request pass that has neither a type nor a body.
  if (!Buffer.isBuffer(body)) throw notJson();
  if (body.length === 0) throw malformed('', 'is empty');
  // RFC 8259, 8.1: JSON is UTF-8. Decoding would repair what is not, silently.
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
