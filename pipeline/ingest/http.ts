import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FastifyInstance, type FastifyReply, fastify, LogController } from 'fastify';
import { limitConnections } from '../common/connections.ts';
import type { Trouble } from '../common/trouble.ts';
import type { IngestConfig } from '../shared/config.ts';
import { countRefused, type IngestCounters } from './counters.ts';
import type { Tls } from './tls.ts';

/** Longer than the usual idle time of load balancers (60 s), so that the ingest never closes first. */
const KEEP_ALIVE_MS = 72_000;

type HttpConfig = Pick<
  IngestConfig,
  'HEADERS_TIMEOUT_MS' | 'REQUEST_TIMEOUT_MS' | 'CONNECTION_LIMIT' | 'BODY_LIMIT'
>;

/** The last request of a connection. */
const LAST = Symbol('last');
/** When the last request came on a connection, or it opened; ms of the monotonic clock. */
const USED = Symbol('used');
type Connection = Socket & { [LAST]?: IncomingMessage; [USED]?: number };

/**
 * A Fastify with bounded connections and bounded time to receive a request.
 * @param full gets the connections that it refuses
 */
export function createHttp(
  config: HttpConfig,
  tls: Tls | undefined,
  counters: IngestCounters,
  full?: Trouble,
): FastifyInstance {
  const { BODY_LIMIT, CONNECTION_LIMIT, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } = config;
  const node = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Node throws when it exceeds the time of the whole request.
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS),
    requireHostHeader: false, // Node's own answer has no body; see app.ts
    connectionsCheckingInterval: Math.min(1000, Math.ceil(HEADERS_TIMEOUT_MS / 4)),
  };
  const app = fastify({
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Requests are not logged, so they need no id.
    genReqId: () => '',
    logController: new LogController({ disableRequestLogging: true }),
    ...(tls === undefined ? { http: node } : { https: { ...node, ...tls } }),
    // The path is not text once it is decoded.
    frameworkErrors: (error, { url }, reply) => {
      counters.refused++;
      const answer = (reply as unknown as FastifyReply).code(error.statusCode ?? 400);
      answer.headers({ 'content-type': JSON_TYPE, connection: 'close' });
      void answer.send(JSON.stringify({ error: `the path ${url.slice(0, 128)} is not percent-encoded` }));
    },
    clientErrorHandler: (error: Error & { code?: string }, socket: Connection) => {
      const request = socket[LAST];
      if (request?.complete === false) countRefused(counters, request);
      // A client that leaves between two requests is refused nothing.
      else if (error.code !== 'ECONNRESET') counters.refused++;
      onClientError(error, socket);
    },
  }) as unknown as FastifyInstance;
  limitConnections(app.server, CONNECTION_LIMIT, full);
  app.server.prependListener('request', (request: IncomingMessage & { socket: Connection }) => {
    request.socket[LAST] = request;
  });
  // Expect: 100-continue gets 413 at once when the body is too large: RFC 9110, 10.1.1.
  app.server.on('checkContinue', (request, response) => {
    if ((announcedLength(request) ?? 0) <= BODY_LIMIT) response.writeContinue();
    app.server.emit('request', request, response);
  });
  // RFC 9110, 10.1.1.
  app.server.on('checkExpectation', (request, response) => {
    counters.refused++;
    request.resume();
    response.statusCode = 417;
    response.setHeaders(new Map(Object.entries({ 'content-type': JSON_TYPE, connection: 'close' })));
    response.end(JSON.stringify({ error: 'the header Expect may only be 100-continue' }));
  });
  return app;
}

const JSON_TYPE = 'application/json; charset=utf-8';

const CLIENT_ERRORS: Record<string, [status: string, message: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request took too long to come in'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers are too large'],
};

/** Answers what Node's parser refuses, which never becomes a request. */
function onClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = CLIENT_ERRORS[error.code ?? ''] ?? ['400 Bad Request', 'this is no HTTP request'];
  const body = JSON.stringify({ error: message });
  const head = [`content-type: ${JSON_TYPE}`, `content-length: ${body.length}`, 'connection: close'];
  socket.end(`HTTP/1.1 ${status}\r\n${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** ms to read an unwanted body after the answer, so that the client reads the answer. */
const LINGER_MS = 1000;
/** A rest of up to this size is read, and the connection stays. */
const DISCARDED = 65_536;

/** The announced length of a request; undefined: none, and it may still have a body. */
export function announcedLength(request: IncomingMessage): number | undefined {
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length);
  return request.headers['transfer-encoding'] === undefined ? 0 : undefined;
}

/** Whether the rest of the body is so long that the connection should be closed. */
export function isMuchUnread(request: IncomingMessage): boolean {
  return !request.complete && (announcedLength(request) ?? Number.POSITIVE_INFINITY) > DISCARDED;
}

/**
 * An answer that ends after the rest of the body was read, or after a while, and closes the connection. Closing at once would reset
 * it while the client still sends, and the client might never see the answer.
 */
export function lingering(request: IncomingMessage, answer: string): Readable {
  async function* slowly() {
    yield answer;
    request.resume();
    const signal = AbortSignal.timeout(LINGER_MS);
    await finished(request, { writable: false, signal }).catch(() => {});
  }
  return Readable.from(slowly());
}

export interface Leave {
  /** ms without a request after which a connection has no more. */
  reusedMs: number;
  /** ms in all. */
  withinMs: number;
}

/** The senders of this project use no connection again that was idle for 4 s. */
export const LEAVE: Leave = { reusedMs: 4500, withinMs: 5000 };

/** ms between two looks at the connections. */
const LOOK_MS = 20;

/**
 * The open connections of a server that does not listen yet, and how clients leave when it is to close. A request that comes just as
 * its idle connection closes fails, and HTTP has no remedy (RFC 9112, 9.5). So each answer closes its connection, until no client uses
 * the idle ones again.
 */
export class Clients {
  readonly #server: FastifyInstance['server'];
  readonly #connections = new Set<Connection>();

  constructor({ server }: Pick<FastifyInstance, 'server'>) {
    this.#server = server;
    // With TLS a request's socket is the one that this event brings.
    const opens = 'setSecureContext' in server ? 'secureConnection' : 'connection';
    server.on(opens, (connection: Connection) => {
      connection[USED] = performance.now();
      this.#connections.add(connection);
      connection.once('close', () => this.#connections.delete(connection));
    });
    server.prependListener('request', ({ socket }: { socket: Connection }) => {
      socket[USED] = performance.now();
    });
  }

  /** Asks all to leave. Resolves when none will use its connection again, or the time is up. */
  async dismiss({ reusedMs, withinMs }: Leave = LEAVE): Promise<void> {
    this.#server.prependListener('request', (_request, response) =>
      response.setHeader('connection', 'close'),
    );
    const until = performance.now() + withinMs;
    while (performance.now() < until && this.#usedSince(performance.now() - reusedMs)) await sleep(LOOK_MS);
  }

  #usedSince(time: number): boolean {
    return [...this.#connections].some(({ [USED]: used = 0 }) => used > time);
  }
}
