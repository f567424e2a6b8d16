import { becomeReady, type Connection, connect, type RedisOptions } from './connection.ts';
import { CLAIM_WAIT_MS } from './queue.ts';
import { renew } from './renewal.ts';

/** A connection for blocking reads. The first one opens it. */
export class Reader {
  readonly #options: RedisOptions;
  #connection: Connection | undefined;
  #id: number | undefined;
  #closed = false;

  constructor(options: RedisOptions) {
    this.#options = options;
  }

  /** Resolves with the connection once it is up; rejects when it is closed. */
  async open(): Promise<Connection> {
    if (this.#closed) throw new Error('connection closed');
    const { timeoutMs } = this.#options;
    if (this.#connection === undefined) {
      this.#connection = connect(this.#options, timeoutMs + CLAIM_WAIT_MS);
      this.#connection.on('close', () => {
        this.#id = undefined;
      });
    }
    const connection = this.#connection;
    await becomeReady(connection, timeoutMs);
    // Each reconnection has a new id.
    this.#id ??= await connection.client('ID');
    return connection;
  }

  /**
   * Ends a read that waits, without losing what Redis is just delivering.
   * @param by another connection
   */
  async interrupt(by: Connection): Promise<void> {
    if (this.#id !== undefined) await by.client('UNBLOCK', this.#id);
  }

  renew(): void {
    if (this.#connection !== undefined) renew(this.#connection);
  }

  close(): void {
    this.#closed = true;
    this.#connection?.disconnect();
  }
}
