/** Checks that generator and network alone are fast enough, without the pipeline. */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Listen } from '../../../pipeline/stack/services.ts';
import { figure, ms } from '../../../reports/format.ts';
import { PROBE, rateOf, send } from './probe.ts';

/** Figures of a network without the pipeline. */
export interface NetworkFigures {
  /** Median round trip of a byte over TCP, ms. */
  rtt_ms: number;
  /** The bandwidth to the pipeline and back, Mbit/s. */
  up_mbit: number;
  down_mbit: number;
}

/**
 * Bytes on the wire for a request of one message, each way, with acknowledgements. A router's counters (/proc/net/dev) showed 460 at
 * 200/s; retransmissions and longer ids take more.
 */
const BYTES_A_REQUEST = 1000;

/** Requests per second that a network carries; infinite if it was not measured. */
export function carries({ up_mbit, down_mbit }: Partial<NetworkFigures> = {}): number {
  return (Math.min(up_mbit ?? Infinity, down_mbit ?? Infinity) * 1e6) / 8 / BYTES_A_REQUEST;
}

/** Load generator and network must carry this multiple of the load alone. */
const HEADROOM = 2;

interface Demand {
  /** Requests per second. */
  rate: number;
  /** Requests that the generator can have in flight. */
  connections: number;
}

/**
 * Reasons why a matrix would measure generator or network instead of the pipeline, a line each.
 * @param alone requests per second of the generator alone
 */
export function bottlenecks(
  { rate, connections }: Demand,
  alone: number,
  networks: Record<string, NetworkFigures>,
): string[] {
  const wanted = HEADROOM * rate;
  const lines: string[] = [];
  if (alone < wanted)
    lines.push(
      `the generator alone sends ${Math.round(alone)} requests/s, and ${wanted} are needed (${HEADROOM} × RATE): lower --rate to ${Math.floor(alone / HEADROOM)}`,
    );
  for (const [name, { rtt_ms, up_mbit, down_mbit }] of Object.entries(networks)) {
    const carried = Math.min(up_mbit, down_mbit);
    const needed = (wanted * BYTES_A_REQUEST * 8) / 1e6;
    if (carried < needed)
      lines.push(
        `the network ${name} carries ${figure(carried)} Mbit/s, and ${figure(needed)} are needed (${HEADROOM} × RATE × ${BYTES_A_REQUEST} bytes): lower --rate to ${Math.floor((rate * carried) / needed)}`,
      );
    const most = connections / (rtt_ms / 1000);
    if (most < wanted)
      lines.push(
        `over the network ${name} (round trip ${ms(rtt_ms)} ms) ${connections} connections send ${Math.floor(most)} requests/s, and ${wanted} are needed (${HEADROOM} × RATE): more --connections`,
      );
  }
  return lines;
}

/** Two bare servers: one answers 202 to each request, the other is the peer of probe.ts. */
export class Bare {
  readonly httpPort: number;
  readonly tcpPort: number;
  readonly #servers: Server[];
  readonly #sockets = new Set<Socket>();

  private constructor(servers: Server[]) {
    this.#servers = servers;
    [this.httpPort, this.tcpPort] = servers.map((server) => (server.address() as AddressInfo).port) as [
      number,
      number,
    ];
    for (const server of servers)
      server.on('connection', (socket) => {
        this.#sockets.add(socket);
        socket.on('close', () => this.#sockets.delete(socket));
        socket.on('error', () => {});
      });
  }

  static async start(listen: Listen): Promise<Bare> {
    const http = createHttpServer((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(202, { 'content-length': 0 }).end());
    });
    const tcp = createServer({ noDelay: true }, (socket) => {
      socket.once('data', (first) => {
        const [what] = first;
        if (what === PROBE.echo) {
          socket.write(first);
          socket.pipe(socket);
        } else if (what === PROBE.up) {
          rateOf(socket).then(
            // The other end closes: a proxy that sees the end of one direction resets both, and with them the answer.
            (mbit) => socket.write(JSON.stringify(mbit)),
            () => {}, // the other end reports it
          );
        } else {
          send(socket);
        }
      });
    });
    for (const server of [http, tcp])
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(0, listen, resolve);
      });
    return new Bare([http, tcp]);
  }

  stop(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
