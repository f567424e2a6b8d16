import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { answerReadiness } from '../common/health.ts';
import { countRefused } from './counters.ts';
import { isMuchUnread, lingering } from './http.ts';
import { bodyTooLarge, HttpError, notJson } from './http-error.ts';
import { Intake, type IntakeOptions } from './intake.ts';

interface IngestOptions extends IntakeOptions {
  /** An error of ours: answered 500, and reported here. */
  onError: (error: Error) => void;
}

/**
 * The front API: `POST /messages`, `POST /messages/batch`, `GET /livez`, `GET /readyz`.
 * It answers 202 once the queue has acknowledged the write, and every error as `{"error", "field"?}`.
 */
export const ingest: FastifyPluginAsync<IngestOptions> = async (app, options) => {
  const { bodyLimit, counters, onError } = options;
  const intake = new Intake(options);
  app.addHook('onReady', async () => intake.start());
  app.addHook('onClose', async () => intake.stop());
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const twice = headerTwice(raw.rawHeaders);
    // RFC 9112, 3.2.
    const isMissing = raw.headers.host === undefined && raw.httpVersion === '1.1';
    if (twice === undefined && !isMissing) return done();
    reply.header('connection', 'close');
    done(new HttpError(400, isMissing ? 'the header Host is missing' : `the header ${twice} is given twice`));
  });
  app.decorateRequest('received', 0);
  app.decorateRequest('held', undefined);
  app.decorateRequest('entered', 0);
  app.decorateRequest('spans', undefined);
  // Only the message routes read bodies, after admission.
  app.removeAllContentTypeParsers();

  app.setNotFoundHandler((request) => {
    throw new HttpError(404, `there is no ${request.method} ${request.url.slice(0, 128)}`);
  });

  app.setErrorHandler((thrown: FastifyError, request, reply) => {
    intake.release(request);
    const error = inOurWords(thrown, bodyLimit);
    const status = error.statusCode ?? 500;
    if (status === 503) counters.unavailable++;
    else if (status < 500) countRefused(counters, request.raw);
    else {
      counters.failed++;
      onError(error);
    }
    refuse(request, reply, status, error);
  });

  app.get('/livez', async () => ({ status: 'alive' }));

  app.get('/readyz', async (_request, reply) => answerReadiness(reply, { problems: intake.problems() }));

  app.register(async (messages) => {
    messages.addHook('onRequest', intake.enter);
    messages.addHook('preParsing', intake.count);
    // Bytes, as a message travels unchanged. They are parsed where they are checked, so that errors end no connection.
    const parser = { parseAs: 'buffer', bodyLimit } as const;
    messages.addContentTypeParser('application/json', parser, (_request, body, done) => done(null, body));
    messages.post('/messages', intake.one);
    messages.post('/messages/batch', intake.batch);
  });
};

/** Headers that Node takes the first one of. A proxy before us may have judged by the last one. */
const SINGLE = ['host', 'authorization', 'content-type'];
const LENGTHS = new Set(SINGLE.map(({ length }) => length));

/** Which of {@link SINGLE} is given twice; undefined: none. */
function headerTwice(raw: readonly string[]): string | undefined {
  let seen = '';
  for (let i = 0; i < raw.length; i += 2) {
    if (!LENGTHS.has(raw[i]?.length as number)) continue;
    const name = (raw[i] as string).toLowerCase();
    if (!SINGLE.includes(name)) continue;
    if (seen.includes(`,${name}`)) return raw[i];
    seen += `,${name}`;
  }
  return undefined;
}

function inOurWords(error: FastifyError, bodyLimit: number): FastifyError | HttpError {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(bodyLimit);
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return notJson();
  return error;
}

/** Any answer but 202: `{"error", "field"?}`. Our own errors are not shown to clients. */
function refuse(request: FastifyRequest, reply: FastifyReply, status: number, error: Error): void {
  const { field, retryAfterS } = error instanceof HttpError ? error : {};
  const shown = status < 500 || status === 503 ? error.message : 'internal error';
  const text = JSON.stringify({ error: shown, field });
  reply.code(status).type('application/json; charset=utf-8');
  // RFC 6750, 3.
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
  if (isMuchUnread(request.raw)) {
    reply.headers({ connection: 'close', 'content-length': Buffer.byteLength(text) });
    reply.send(lingering(request.raw, text));
  } else reply.send(text);
}
