import { isUtf8 } from 'node:buffer';
import { Transform } from 'node:stream';
import type { FastifyReply, FastifyRequest, onRequestHookHandler, preParsingHookHandler } from 'fastify';
import type { Durations } from '../common/metrics.ts';
import type { Problem } from '../common/readiness.ts';
import type { SpanOf, Spans } from '../common/spans.ts';
import type { Trouble } from '../common/trouble.ts';
import { traceOf } from '../queue/frame.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { TraceList } from '../queue/trace-list.ts';
import { formatStamps } from '../shared/hops.ts';
import { Admission, FailedShards, type Limits } from './admission.ts';
import type { IngestCounters } from './counters.ts';
import { announcedLength } from './http.ts';
import {
  bodyTooLarge,
  type HttpError,
  malformed,
  notJson,
  notPlain,
  unauthorized,
  unavailable,
} from './http-error.ts';
import { elementsOf, type Message, MessageCheck } from './message.ts';
import { Outbox } from './outbox.ts';
import { Throttle } from './throttle.ts';
import type { Tokens } from './tokens.ts';

export interface IntakeOptions {
  queue: Pick<
    MessageQueue,
    'server' | 'append' | 'depth' | 'away' | 'explain' | 'shardFor' | 'shardName' | 'isDisconnection'
  >;
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
  trace?: Pick<TraceList, 'note'> | undefined;
  /** Exports spans of sampled requests. */
  spans?: Pick<Spans, 'now' | 'request'> | undefined;
  /** The intake updates them. */
  counters: IngestCounters;
  /** The time of each message from request to queue; without stamps it gets none. */
  durations: Pick<Durations, 'add'>;
  /** Why the queue must not get messages; undefined: it may. */
  objection?: () => Problem | undefined;
  /** The log's lines about a queue that takes no messages, by shard. */
  trouble?: Pick<Trouble, 'begin' | 'end'> | undefined;
  /** Called when the backlog cannot be read though the queue is there, with the reason, and with undefined when it is read again. */
  onUnreadable?: (reason: string | undefined) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** When it was first seen, µs of the reference clock. */
    received: number;
    /** Bytes that it holds (admission.ts); undefined: it was not admitted, or is released. */
    held: number | undefined;
    /** When it was first seen, by the clock of {@link Spans}. */
    entered: number;
    spans: SpanOf | undefined;
  }
}

/** Admits requests, checks their bodies, and answers 202 after the queue has acknowledged the write. */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #check: MessageCheck;
  readonly #admission: Admission;
  readonly #throttle: Throttle;
  readonly #outbox: Outbox<FastifyReply>;
  readonly #shards: FailedShards;

  constructor(options: IntakeOptions) {
    const { queue, limits, counters, objection, trouble } = options;
    this.#options = options;
    this.#check = new MessageCheck(options.idKey, options.batchLimit);
    this.#admission = new Admission(queue, limits, counters, objection, options.onUnreadable);
    this.#throttle = new Throttle(queue, options.throttleBacklog, counters);
    this.#shards = new FailedShards(queue, (shard) => this.#outbox.isBusy(shard), trouble);
    this.#outbox = new Outbox(queue, counters, options.lingerMs, {
      written: (depth, shard) => {
        this.#admission.written(depth);
        this.#throttle.release();
        this.#shards.written(shard);
      },
      failed: (error, shard) => {
        const problem = this.#problemOf(error);
        if (queue.shardName(shard) === undefined) this.#admission.failed(problem);
        this.#shards.failed(shard, problem);
      },
      settled: (reply, messages, failure) => {
        reply.request.spans?.end(failure?.error.message);
        if (failure !== undefined) {
          const { error, shard } = failure;
          reply.send(unavailable(this.#shards.named(shard, this.#problemOf(error)).problem, 1));
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

  /** Why no messages are taken now. */
  problems(): Problem[] {
    const { problem } = this.#shards;
    return [...this.#admission.problems(), ...(problem === undefined ? [] : [problem])];
  }

  #problemOf(error: Error): Problem {
    const { queue } = this.#options;
    const { problem, kind } = queue.explain(error);
    return { problem: `${queue.server} did not take it: ${problem}`, kind };
  }

  /** `onRequest`: admits a request before its body is read, or refuses it. */
  readonly enter: onRequestHookHandler = (request, _reply, done) => {
    request.received = this.#options.now?.() ?? 0;
    const { tokens, bodyLimit, spans } = this.#options;
    if (spans !== undefined) request.entered = spans.now();
    const length = announcedLength(request.raw) ?? 0;
    if (!tokens.accept(request.headers.authorization)) return done(unauthorized());
    const foreign = codingOf(request);
    if (foreign !== undefined) return done(foreign);
    if (length > bodyLimit) return done(bodyTooLarge(bodyLimit));
    const held = this.#isCounted(request) ? 0 : length;
    const refusal = this.#admission.refusal(1) ?? this.#admission.enter(held);
    if (refusal === undefined) request.held = held;
    done(refusal);
  };

  /**
   * Whether the bytes of a body count as they come. Some slow bodies that announce much would take the memory from everybody.
   * A small one counts as announced, which costs nothing: as many as that would take are more than may be open.
   */
  #isCounted(request: FastifyRequest): boolean {
    const { bytes, requests } = this.#options.limits;
    return (announcedLength(request.raw) ?? Number.POSITIVE_INFINITY) > bytes / requests;
  }

  /** `preParsing`: counts the bytes of a body as they come. */
  readonly count: preParsingHookHandler = (request, _reply, body, done) => {
    if (!this.#isCounted(request)) return done(null, body);
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
    this.#check.keys(body, undefined);
    this.#admit([message]);
    this.#options.trace?.note(message);
    const stamps = this.#stamps(request, 1);
    this.#outbox.add(reply, [{ body, target: message.target, stamps, trace: this.#trace(request, 1) }]);
  };

  /** `POST /messages/batch` */
  readonly batch = (request: FastifyRequest, reply: FastifyReply): void => {
    const body = textOf(request.body);
    const messages = this.#check.batch(parse(body), body.length);
    const bodies = elementsOf(body);
    for (let i = 0; i < bodies.length; i++) this.#check.keys(bodies[i] as string, i);
    this.#admit(messages);
    const stamps = this.#stamps(request, messages.length);
    const trace = this.#trace(request, messages.length);
    if (this.#options.trace !== undefined) {
      for (const message of messages) this.#options.trace.note(message);
    }
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

  #admit(messages: readonly Message[]): void {
    const { queue } = this.#options;
    const shards = new Set(messages.map(({ target }) => queue.shardFor(target)));
    const refusal = this.#admission.refusal(messages.length) ?? this.#shards.refusal(shards);
    if (refusal !== undefined) throw refusal;
  }

  /** The trace context of messages that are ready to go. */
  #trace(request: FastifyRequest, messages: number): string {
    const trace = traceOf(request.headers);
    if (trace === '') return trace;
    request.spans = this.#options.spans?.request(trace, request.entered, messages);
    return request.spans?.trace ?? trace;
  }

  /** The stamps of messages that are ready to go: what comes after is the queue's time. */
  #stamps(request: FastifyRequest, messages: number): string {
    const { now, durations } = this.#options;
    if (now === undefined) return '';
    const queued = now();
    durations.add(queued - request.received, messages);
    return formatStamps(request.received, queued);
  }
}

/** Why a body cannot be read as it is; undefined: it can (RFC 9110, 8.4; RFC 8259, 8.1). */
function codingOf({ headers }: FastifyRequest): HttpError | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase();
  if (coding !== undefined && coding !== '' && coding !== 'identity')
    return notPlain(`the content coding is ${coding.slice(0, 64)}`);
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset))
    return notPlain(`the character set is ${charset.slice(0, 64)}`);
  return undefined;
}

/** Throws a {@link HttpError} unless the body is a text. */
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
