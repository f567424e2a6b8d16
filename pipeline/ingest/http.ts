import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { type FastifyInstance, fastify } from 'fastify';
import type { IngestConfig } from '../config.ts';
import { announcedLength } from './body.ts';
import type { IngestCounters } from './counters.ts';
import type { Tls } from './tls.ts';

/** Longer than the idle time of load balancers (60 s as a rule), so that it is never we who hang up. */
const KEEP_ALIVE_MS = 72_000;

export type HttpConfig = Pick<
  IngestConfig,
  'HEADERS_TIMEOUT_MS' | 'REQUEST_TIMEOUT_MS' | 'CONNECTION_LIMIT' | 'BODY_LIMIT'
>;

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * By path, who takes a POST before Fastify sees it: its router, hooks and reply are a quarter of the CPU of a
     * message. A path is spelled as here, or comes to Fastify.
     */
    shortcuts: Map<string, RequestListener>;
  }
}

/** A Fastify whose connections are bounded, in number and in the time that a request may take to come in. */
export function createHttp(
  config: HttpConfig,
  tls: Tls | undefined,
  counters: IngestCounters,
): FastifyInstance {
  const options = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node throws when it is longer than the whole may take.
    headersTimeout: Math.min(config.HEADERS_TIMEOUT_MS, config.REQUEST_TIMEOUT_MS),
    requestTimeout: config.REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(1000, Math.ceil(config.HEADERS_TIMEOUT_MS / 4)),
  };
  const shortcuts = new Map<string, RequestListener>();
  const app = fastify({
    genReqId: () => '',
    exposeHeadRoutes: false,
    // It makes the address that is told begin with https.
    ...(tls === undefined ? {} : { https: tls }),
    serverFactory: (route) => {
      const listener: RequestListener = (request, response) => {
        const take = request.method === 'POST' ? shortcuts.get(request.url as string) : undefined;
        (take ?? route)(request, response);
      };
      return tls === undefined
        ? createServer(options, listener)
        : createSecureServer({ ...options, ...tls }, listener);
    },
    clientErrorHandler: (error, socket) => {
      counters.refused++;
      onClientError(error, socket);
    },
  }) as unknown as FastifyInstance;
  app.decorate('shortcuts', shortcuts);
  // What comes on a connection that is kept is refused from then on, and Fastify knows how.
  app.addHook('preClose', async () => shortcuts.clear());
  app.server.maxConnections = config.CONNECTION_LIMIT;
  // A client that asks before it sends is told at once that a body is too large: RFC 9110, 10.1.1.
  app.server.on('checkContinue', (request, response) => {
    if ((announcedLength(request) ?? 0) <= config.BODY_LIMIT) response.writeContinue();
    app.server.emit('request', request, response);
  });
  return app;
}

const CLIENT_ERRORS: Record<string, [status: string, message: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request took too long to come in'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers are too large'],
};

/** What Node's parser refuses never becomes a request: the answer is written by hand. */
function onClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = CLIENT_ERRORS[error.code ?? ''] ?? ['400 Bad Request', 'this is no HTTP request'];
  const body = JSON.stringify({ error: message });
  const head = [
    'content-type: application/json; charset=utf-8',
    `content-length: ${body.length}`,
    'connection: close',
  ];
  socket.end(`HTTP/1.1 ${status}\r\n${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
