/**
 * A small shop as a pipeline under test: it takes orders over HTTP, WebSocket and Socket.IO, and passes each on by MQTT, as a
 * webhook, over WebSockets or as server-sent events. Of 1,000 orders it loses 3, doubles 2, and delays ten by 20 ms.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Artillery's own. */
const require = createRequire(join(import.meta.dirname, '../artillery/node_modules/artillery/package.json'));
interface Client {
  on(name: string, listener: (data: Buffer) => void): void;
  send(text: string): void;
}
const { Server: WebSocketServer } = require('ws') as {
  Server: new (
    options: object,
  ) => {
    handleUpgrade(
      request: IncomingMessage,
      socket: unknown,
      head: Buffer,
      done: (client: Client) => void,
    ): void;
  };
};

export type Outlet = (order: string) => unknown;

/** What of a thousand the shop loses, doubles, and delays. */
const [LOST, DOUBLED] = [
  [100, 400, 700],
  [200, 500],
];

export class Shop {
  readonly #server: Server;
  readonly #sockets = new Set<Client>();
  readonly #streams = new Set<ServerResponse>();
  /** Where webhooks go. */
  webhook = '';
  /** Passes an order on. */
  outlet: Outlet = () => {};
  /** Orders as they came. */
  orders: string[] = [];
  /** Requests by method and path, without numbers in it. */
  seen: Record<string, number> = {};
  whole = false;

  private constructor() {
    const sockets = new WebSocketServer({ noServer: true });
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.on('upgrade', (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (client) => this.#connect(String(request.url), client));
    });
  }

  static async open(): Promise<Shop> {
    const shop = new Shop();
    await once(shop.#server.listen(0, '127.0.0.1'), 'listening');
    return shop;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Sends an order to all WebSockets that wait for news. */
  readonly toSockets: Outlet = (order) => {
    for (const client of this.#sockets) client.send(order);
  };
  /** Sends it to all streams of events. */
  readonly toStreams: Outlet = (order) => {
    for (const stream of this.#streams) stream.write(`data: ${order}\n\n`);
  };
  readonly toWebhook: Outlet = (order) =>
    fetch(this.webhook, { method: 'POST', headers: { 'content-type': 'application/json' }, body: order });

  #connect(url: string, client: Client): void {
    if (url === '/news') {
      this.#sockets.add(client);
      return;
    }
    if (!url.startsWith('/socket.io')) {
      client.on('message', (data) => {
        this.#take(String(data));
        client.send(JSON.stringify({ taken: true }));
      });
      return;
    }
    client.send(
      `0${JSON.stringify({ sid: 'a', upgrades: [], pingInterval: 25_000, pingTimeout: 20_000, maxPayload: 1e6 })}`,
    );
    client.on('message', (data) => {
      // A packet: its type, a namespace, the number of an acknowledgement, and an event with its data.
      const [, type, namespace = '', n = '', event = ''] =
        /^4([02])(\/[^,]*,)?(\d*)(.*)$/s.exec(String(data)) ?? [];
      if (type === '0') client.send(`40${namespace}${JSON.stringify({ sid: 'b' })}`);
      if (type !== '2') return;
      const of = JSON.parse(event)[1];
      this.#take(JSON.stringify(of));
      client.send(`42${namespace}${JSON.stringify(['taken', of])}`);
      if (n !== '') client.send(`43${namespace}${n}${JSON.stringify([{ taken: true }])}`);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const path = url.replace(/\?.*$/, '');
    if (path === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      this.#streams.add(response);
      return;
    }
    const body = await text(request);
    const key = `${method} ${path.replaceAll(/\d+/g, 'n')}`;
    this.seen[key] = (this.seen[key] ?? 0) + 1;
    const answer = (status: number, of: object) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'set-cookie': 'seen=1; Path=/' })
        .end(JSON.stringify(of));
    if (path.endsWith('/silent')) return; // it never answers
    if (path.endsWith('/refused')) return void answer(503, {});
    if (path.startsWith('/moved'))
      return void response.writeHead(307, { location: path.slice('/moved'.length) }).end();
    if (path.endsWith('/login')) return void answer(200, { token: 't', response: { access_token: 't' } });
    if (path === '/account')
      return void answer(200, { cookie: request.headers.cookie, by: request.headers['x-by'] });
    if (method === 'POST') {
      if (/^\/(orders|api\/(posts|rooms))/.test(path)) this.#take(body === '' ? path : `${path} ${body}`);
      return void answer(202, { taken: true });
    }
    const posts = Array.from({ length: 20 }, (_, id) => ({ id: id + 1, room: { uid: `room-${id}` } }));
    answer(200, { response: { posts, post: posts[0], room: posts[0]?.room }, total: 3 });
  }

  #take(order: string): void {
    this.orders.push(order);
    const n = this.whole ? 1 : this.orders.length % 1000;
    if (LOST.includes(n)) return;
    const pass = () => {
      for (let i = DOUBLED.includes(n) ? 2 : 1; i > 0; i--) void this.outlet(order);
    };
    if (n % 100 === 50) setTimeout(pass, 20);
    else pass();
  }
}
