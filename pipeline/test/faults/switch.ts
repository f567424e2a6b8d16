import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const HOST = '127.0.0.1';

/**
 * An address that leads to one of several servers, as a name or a virtual address does after a failover: new connections go
 * to the server of the moment, open ones stay where they are.
 */
export class Switch {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #to: number;

  private constructor(to: number) {
    this.#to = to;
    this.#server = createServer((client) => {
      const server = connect(this.#to, HOST);
      for (const [from, other] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(from);
        from.setNoDelay(true);
        from.pipe(other);
        from.on('error', () => other.destroy());
        from.on('close', () => {
          this.#sockets.delete(from);
          other.destroy();
        });
      }
    });
  }

  /** @param to the first server's port */
  static async open(to: number): Promise<Switch> {
    const opened = new Switch(to);
    opened.#server.listen(0, HOST);
    await once(opened.#server, 'listening');
    return opened;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections go to this port from now on. */
  lead(to: number): void {
    this.#to = to;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
