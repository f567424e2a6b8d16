/**
 * How clients leave an ingest that is to close. A request that comes just as its idle connection closes fails, and HTTP has no
 * remedy (RFC 9112, 9.5). So each answer closes its connection, until no client uses the idle ones again.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

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
/** When the last request came on a connection, or it opened; ms of the monotonic clock. */
const USED = Symbol('used');

type Connection = Socket & { [USED]?: number };

/** The open connections of a server that does not listen yet. */
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
