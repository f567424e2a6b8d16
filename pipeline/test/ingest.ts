import { type AddressInfo, connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Problem } from '../common/readiness.ts';
import { Trouble } from '../common/trouble.ts';
import { ingest } from '../ingest/app.ts';
import { type IngestCounters, ingestSeconds, noCounts } from '../ingest/counters.ts';
import { createHttp } from '../ingest/http.ts';
import { Tokens } from '../ingest/tokens.ts';
import type { MessageQueue } from '../queue/queue.ts';

const TOKEN = 'a-token-of-the-test';
export const AUTHORIZED = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

/** A test's settings; the defaults are generous. */
export interface Settings {
  queue: MessageQueue;
  now?: () => number;
  backlog?: number;
  throttle?: number;
  linger?: number;
  requests?: number;
  bytes?: number;
  bodyLimit?: number;
  idKey?: string;
  connections?: number;
  headersTimeoutMs?: number;
  requestTimeoutMs?: number;
  onTrouble?: (reason: string | undefined) => void;
  onUnreadable?: (reason: string | undefined) => void;
}

export interface IngestResponse {
  status: number;
  headers: Headers;
  body: { accepted?: number; error?: string; field?: string };
}

/** An ingest in this process, listening on a free port. */
export class TestIngest {
  readonly app: FastifyInstance;
  readonly counters: IngestCounters;
  readonly port: number;

  private constructor(app: FastifyInstance, counters: IngestCounters) {
    this.app = app;
    this.counters = counters;
    this.port = (app.server.address() as AddressInfo).port;
  }

  static async start(settings: Settings): Promise<TestIngest> {
    const {
      queue,
      now,
      idKey = 'id',
      bodyLimit = 1_048_576,
      connections = 1000,
      onTrouble,
      onUnreadable,
    } = settings;
    const { requests = 1000, bytes = 16_777_216, backlog = 100_000 } = settings;
    const { headersTimeoutMs = 60_000, requestTimeoutMs = 60_000 } = settings;
    const counters = noCounts();
    const http = {
      HEADERS_TIMEOUT_MS: headersTimeoutMs,
      REQUEST_TIMEOUT_MS: requestTimeoutMs,
      CONNECTION_LIMIT: connections,
      BODY_LIMIT: bodyLimit,
    };
    const app = createHttp(http, undefined, counters);
    await app.register(ingest, {
      queue,
      now,
      tokens: new Tokens(TOKEN, undefined),
      limits: { requests, bytes, backlog },
      throttleBacklog: settings.throttle ?? 0,
      lingerMs: settings.linger ?? 0,
      bodyLimit,
      batchLimit: 1000,
      idKey,
      counters,
      durations: ingestSeconds(),
      trouble: onTrouble && new Trouble({ warn: onTrouble, info: () => onTrouble(undefined) } as never, ''),
      ...(onUnreadable && { onUnreadable }),
      onError: (error) => console.error(error),
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    return new TestIngest(app, counters);
  }

  close(): Promise<void> {
    return this.app.close();
  }

  /** Posts a body: text and bytes as they are, anything else as JSON. */
  async post(
    path: string,
    body: unknown,
    headers: Record<string, string> = AUTHORIZED,
    method = 'POST',
  ): Promise<IngestResponse> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers,
      body: isRaw ? (body as BodyInit) : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text) };
  }

  async get(path: string): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`);
    await response.arrayBuffer();
    return response.status;
  }

  /** The status of `/readyz`, and the problems that it names. */
  async readiness(): Promise<{ status: number; problems: Problem[] }> {
    const response = await fetch(`http://127.0.0.1:${this.port}/readyz`);
    const { problems } = (await response.json()) as { problems: Problem[] };
    return { status: response.status, problems };
  }

  /** A raw connection, for requests that no client sends. */
  open(...parts: (string | Buffer)[]): RawConnection {
    return new RawConnection(this.port, parts);
  }

  /** The head of a POST of a message whose body the test sends itself. */
  head(...more: string[]): string {
    const lines = Object.entries(AUTHORIZED).map(([name, value]) => `${name}: ${value}`);
    return ['POST /messages HTTP/1.1', 'host: test', ...lines, ...more, '', ''].join('\r\n');
  }
}

export class RawConnection {
  /** Resolves with all received bytes when the peer has closed. */
  readonly closed: Promise<string>;
  /** The bytes received so far. */
  received = '';
  readonly #socket;

  constructor(port: number, parts: (string | Buffer)[]) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text) => {
      this.received += text;
    });
    this.#socket.on('error', () => {});
    this.closed = new Promise((resolve) => this.#socket.once('close', () => resolve(this.received)));
    for (const part of parts) this.#socket.write(part);
  }

  write(part: string | Buffer): void {
    this.#socket.write(part);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Sends no more: politely, or with a reset. */
  finish(how: 'end' | 'reset'): void {
    if (how === 'end') this.#socket.end();
    else this.#socket.resetAndDestroy();
  }
}
