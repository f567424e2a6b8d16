import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { formatStamps } from '../hops.ts';
import { explainRedis } from '../queue/problems.ts';
import type { Queue } from '../queue/queue.ts';
import { Admission, type Limits } from './admission.ts';
import { announcedLength, isMuchUnread, readBody, sendUnread } from './body.ts';
import type { IngestCounters } from './counters.ts';
import { MessageCheck } from './message.ts';
import { Outbox } from './outbox.ts';
import { malformed, Refusal, tooLarge, unauthorized, unavailable } from './refusal.ts';
import type { Tokens } from './tokens.ts';

export interface IngestOptions {
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
  /** Kept up to date by the plugin. */
  counters: IngestCounters;
  /** Why this Redis must not be given messages, or undefined when it may. */
  objection?: () => string | undefined;
  /** Redis refuses our messages, with the reason in words; or, undefined, takes them again. */
  onTrouble?: (reason: string | undefined) => void;
  /** An error of ours: answered 500, and told here. */
  onError: (error: Error) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request was first seen, µs of the reference clock. */
    received: number;
    /** Bytes that it holds of what admission.ts allows; below zero: it was not let in, or has left. */
    held: number;
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';
const ONE_ACCEPTED = '{"accepted":1}';

/**
 * The front API: `POST /messages`, `POST /messages/batch`, `GET /livez`, `GET /readyz`.
 * It answers 202 once Redis has acknowledged the write, and every error as `{"error", "field"?}`.
 */
export const ingest: FastifyPluginAsync<IngestOptions> = async (app, options) => {
  const { queue, now, tokens, bodyLimit, counters: count } = options;
  const check = new MessageCheck(options.idKey, options.batchLimit);
  const admission = new Admission(queue, options.limits, count, options.objection);
  let trouble: string | undefined;
  const outbox = new Outbox<FastifyReply>(queue, count, {
    written: (depth) => {
      admission.written(depth);
      if (trouble !== undefined) options.onTrouble?.(undefined);
      trouble = undefined;
    },
    failed: (error) => {
      const reason = `Redis did not take it: ${explainRedis(error)}`;
      admission.failed(reason);
      if (reason !== trouble) options.onTrouble?.(reason);
      trouble = reason;
    },
    settled: (reply, messages, error) => {
      if (error !== undefined) return reply.send(unavailable(trouble as string, 1));
      leave(reply.request);
      count.accepted += messages;
      reply.code(202).header('content-type', JSON_TYPE);
      reply.send(messages === 1 ? ONE_ACCEPTED : `{"accepted":${messages}}`);
    },
  });

  app.decorateRequest('received', 0);
  app.decorateRequest('held', -1);
  app.addHook('onReady', async () => admission.start());
  app.addHook('onClose', async () => admission.stop());
  // A body is read where it is wanted, below, and nowhere else.
  app.removeAllContentTypeParsers();

  function enter(request: FastifyRequest): Refusal | undefined {
    if (!tokens.accept(request.raw.headers.authorization)) return unauthorized();
    const length = announcedLength(request.raw) ?? 0;
    if (length > bodyLimit) return bodyTooLarge();
    const refusal = admission.refusal(1) ?? admission.enter(length);
    if (refusal === undefined) request.held = length;
    return refusal;
  }

  function leave(request: FastifyRequest): void {
    if (request.held < 0) return;
    admission.leave(request.held);
    request.held = -1;
  }

  const bodyTooLarge = () => tooLarge(`the body exceeds the limit of ${bodyLimit} bytes`);

  app.setNotFoundHandler((request) => {
    throw new Refusal(404, `there is no ${request.method} ${request.url.slice(0, 128)}`);
  });

  app.setErrorHandler((error: FastifyError | Refusal, request, reply) => {
    leave(request);
    const status = error.statusCode ?? 500;
    if (status === 503) count.unavailable++;
    else if (status < 500) count.refused++;
    else {
      count.failed++;
      options.onError(error);
    }
    const { field, retryAfterS } = error instanceof Refusal ? error : {};
    reply.code(status).header('content-type', JSON_TYPE);
    // RFC 6750, 3.
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
    const text = JSON.stringify({
      error: status >= 500 && status !== 503 ? 'internal error' : error.message,
      field,
    });
    if (isMuchUnread(request.raw)) sendUnread(reply.hijack().raw, status, reply.getHeaders(), text);
    else reply.send(text);
  });

  app.get('/livez', async () => ({ status: 'alive' }));

  app.get('/readyz', async () => {
    const refusal = admission.unready();
    if (refusal !== undefined) throw refusal;
    return { status: 'ready' };
  });

  await app.register(async (api) => {
    // First of all: the stage `ingest` starts here.
    api.addHook('onRequest', (request, _reply, done) => {
      if (now !== undefined) request.received = now();
      done(enter(request));
    });

    api.addContentTypeParser('application/json', (request, payload, done) => {
      const announced = announcedLength(payload) !== undefined;
      readBody(payload, announced ? undefined : (bytes) => hold(request, bytes), done);
    });

    function hold(request: FastifyRequest, bytes: number): Refusal | undefined {
      if (request.held + bytes > bodyLimit) return bodyTooLarge();
      const refusal = admission.hold(bytes);
      if (refusal === undefined) request.held += bytes;
      return refusal;
    }

    /** The stamps of a message that is ready to go: what comes after is Redis' time, and the queue's. */
    function stamps(request: FastifyRequest): string {
      return now === undefined ? '' : formatStamps(request.received, now());
    }

    api.post<{ Body: string | undefined }>('/messages', (request, reply) => {
      const body = request.body ?? '';
      const { target } = check.message(parse(body));
      const refusal = admission.refusal(1);
      if (refusal !== undefined) throw refusal;
      outbox.add(reply, [{ body, target, stamps: stamps(request) }]);
    });

    api.post<{ Body: string | undefined }>('/messages/batch', (request, reply) => {
      const messages = check.batch(parse(request.body ?? ''));
      const refusal = admission.refusal(messages.length);
      if (refusal !== undefined) throw refusal;
      const stamped = stamps(request);
      outbox.add(
        reply,
        messages.map((message) => ({
          body: JSON.stringify(message),
          target: message.target,
          stamps: stamped,
        })),
      );
    });
  });
};

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed('', `is not JSON: ${(error as Error).message}`);
  }
}
