/** A proxy before a server. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A test can break the link, rewrite the server's bytes or drop them, and let the address lead to another server. */
export interface Link {
  /** The server's address through the proxy. */
  url: string;
  breaksAt: (bytes: Buffer) => boolean;
  rewrite: (bytes: Buffer) => Buffer;
  mute: boolean;
  /** New connections lead to this server. */
  leadTo(serverUrl: string): void;
  /** Breaks all connections. */
  cut(): void;
  /** Breaks all connections, and takes no more. */
  end(): void;
}

/** @param at the port to listen on; 0: a free one */
export async function openLink(t: TestContext, serverUrl: string, at = 0): Promise<Link> {
  const url = new URL(serverUrl);
  let { hostname, port } = url;
  const link: Link = {
    url: '',
    breaksAt: (_bytes: Buffer) => false,
    rewrite: (bytes: Buffer) => bytes,
    mute: false,
    leadTo(serverUrl) {
      ({ hostname, port } = new URL(serverUrl));
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    end() {
      server.close();
      link.cut();
    },
  };
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (link.breaksAt(bytes)) client.destroy();
      else upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!link.mute) client.write(link.rewrite(bytes));
    });
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  t.after(() => link.end());
  url.port = String((server.address() as { port: number }).port);
  link.url = url.href;
  return link;
}
