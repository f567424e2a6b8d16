import { isUtf8 } from 'node:buffer';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyError, FastifyPluginAsync } from 'fastify';
import type { Queue } from '../queue/queue.ts';
import { Admission } from './admission.ts';
import { Batch, Message, MessageError, validator } from './message.ts';
import { type Accepted, Outbox } from './outbox.ts';
import type { Tokens } from './tokens.ts';

export interface IngestOptions {
  queue: Pick<Queue, 'append' | 'depth' | 'ready'>;
  /** The reference clock, µs. Without it messages carry no stamps. */
  now: (() => number) | undefined;
  tokens: Pick<Tokens, 'accept'>;
  /** Messages in the queue from which on ingest answers 503. */
  backlogLimit: number;
  /** Bytes of a request body. */
  bodyLimit: number;
  /** Kept up to date by the plugin. */
  counters: IngestCounters;
  /** An error of ours: answered 500, and told here. */
  onError: (error: Error) => void;
}

/** What became of the requests since the start. */
export interface IngestCounters {
  /** Messages that Redis acknowledged. */
  accepted: number;
  /** Requests answered 4xx: the client's mistake. */
  refused: number;
  /** Requests answered 503. */
  unavailable: number;
}

export const noCounts = (): IngestCounters => ({ accepted: 0, refused: 0, unavailable: 0 });

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request was first seen, µs of the reference clock. */
    received: number;
    /** The body exactly as posted. */
    rawBody: Buffer | null;
  }
}

/** Redis cannot take it now; the client may try again. */
class Unavailable extends Error {
  readonly statusCode = 503;
}

/** No token that holds. */
class Unauthorized extends Error {
  readonly statusCode = 401;
}

const RETRY_AFTER_S = 1;

/**
 * The front API: `POST /messages`, `POST /messages/batch`, `GET /livez`, `GET /readyz`.
 * It answers 202 once Redis has acknowledged the write, and every error as `{"error", "field"?}`.
 */
export const ingest: FastifyPluginAsync<IngestOptions> = async (app, options) => {
  const { queue, now, tokens, backlogLimit, bodyLimit, counters: count } = options;
  const outbox = new Outbox(queue, now);
  const admission = new Admission(queue, backlogLimit);

  app.decorateRequest('received', 0);
  app.decorateRequest('rawBody', null);
  app.addHook('onReady', async () => admission.start());
  app.addHook('onClose', async () => admission.stop());

  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ error: `there is no ${request.method} ${request.url}` }),
  );

  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status === 503) {
      count.unavailable++;
      reply.header('retry-after', RETRY_AFTER_S);
    } else if (status < 500) {
      count.refused++;
    } else {
      options.onError(error);
      return reply.code(500).send({ error: 'internal error' });
    }
    const message = status === 413 ? `the body exceeds the limit of ${bodyLimit} bytes` : error.message;
    const field = error instanceof MessageError ? { field: error.field } : {};
    return reply.code(status).send({ error: message, ...field });
  });

  app.get('/livez', async () => ({ status: 'alive' }));

  app.get('/readyz', async (_request, reply) => {
    const refusal = admission.refusal(outbox.unanswered);
    if (refusal === undefined) return { status: 'ready' };
    return reply.code(503).header('retry-after', RETRY_AFTER_S).send({ error: refusal });
  });

  await app.register(async (api) => {
    // First of all hooks: the stage `ingest` starts here.
    if (now !== undefined) {
      api.addHook('onRequest', (request, _reply, done) => {
        request.received = now();
        done();
      });
    }
    api.addHook('onRequest', (request, reply, done) => {
      if (tokens.accept(request.headers.authorization)) return done();
      // RFC 6750, 3.
      reply.header('www-authenticate', 'Bearer');
      done(new Unauthorized('the token is missing or wrong'));
    });
    api.addHook('onRequest', (_request, _reply, done) => {
      const refusal = admission.refusal(outbox.unanswered);
      done(refusal === undefined ? undefined : new Unavailable(refusal));
    });

    api.removeAllContentTypeParsers();
    api.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer', bodyLimit },
      (request, body: Buffer, done) => {
        request.rawBody = body;
        try {
          // RFC 8259, 8.1: JSON is UTF-8. Decoding would repair what is not, silently.
          if (!isUtf8(body)) throw new SyntaxError('the bytes are not UTF-8');
          done(null, JSON.parse(body.toString()));
        } catch (error) {
          done(new MessageError('', `is not JSON: ${(error as Error).message}`));
        }
      },
    );
    api.setValidatorCompiler(({ schema }) => validator(schema as TSchema));

    const accept = async (messages: readonly Accepted[], received: number) => {
      try {
        await outbox.send(messages, received);
      } catch (error) {
        throw new Unavailable(`Redis did not take it: ${(error as Error).message}`);
      }
      count.accepted += messages.length;
      return { accepted: messages.length };
    };

    api.post<{ Body: Message }>('/messages', { schema: { body: Message } }, async (request, reply) => {
      reply.code(202);
      return accept([{ body: request.rawBody as Buffer, target: request.body.target }], request.received);
    });

    api.post<{ Body: Batch }>('/messages/batch', { schema: { body: Batch } }, async (request, reply) => {
      reply.code(202);
      const messages = request.body.map((message) => ({
        body: JSON.stringify(message),
        target: message.target,
      }));
      return accept(messages, request.received);
    });
  });
};
