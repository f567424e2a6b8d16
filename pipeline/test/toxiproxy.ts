import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import type { Listen } from '../stack/services.ts';

const ROOT = join(import.meta.dirname, '../..');
const BINARY = join(ROOT, '.stack/toxiproxy');
const HOST = '127.0.0.1';
const READY_MS = 15_000;

/** Builds the Toxiproxy that proxy/go.mod pins, if needed. */
export async function buildToxiproxy(): Promise<void> {
  await mkdir(join(ROOT, '.stack'), { recursive: true, mode: 0o700 });
  const source = 'github.com/Shopify/toxiproxy/v2/cmd/server';
  await execa('go', ['build', '-buildvcs=false', '-o', BINARY, source], {
    cwd: join(import.meta.dirname, 'proxy'),
  });
}

/** `up`: from the client to the server; `down`: back. */
type Direction = 'up' | 'down';

/** A TCP proxy between one client and one server of the pipeline. */
export class Link {
  readonly port: number;
  readonly #api: string;

  constructor(api: string, port: number) {
    this.#api = api;
    this.port = port;
  }

  /** The server's URL through the proxy. */
  through(url: string): string {
    const at = new URL(url);
    at.port = String(this.port);
    return at.toString().replace(/\/$/, '');
  }

  /** Delays every byte by so many ms. */
  delay(ms: number, direction: Direction): Promise<void> {
    return this.#add('latency', direction, { latency: ms });
  }

  /** Drops all bytes; connections stay open. */
  swallow(direction: Direction): Promise<void> {
    return this.#add('timeout', direction, { timeout: 0 });
  }

  /** Limits a connection to so many KB/s. */
  throttle(kilobytes: number, direction: Direction): Promise<void> {
    return this.#add('bandwidth', direction, { rate: kilobytes });
  }

  /** Breaks open connections and refuses new ones. */
  cut(): Promise<void> {
    return request('POST', this.#api, { enabled: false });
  }

  /** Ends all faults. Connections that a fault held up are broken. */
  async heal(): Promise<void> {
    const toxics = (await (await fetch(`${this.#api}/toxics`)).json()) as { name: string }[];
    for (const { name } of toxics) await request('DELETE', `${this.#api}/toxics/${name}`);
    await request('POST', this.#api, { enabled: true });
  }

  /** Removes the proxy. */
  remove(): Promise<void> {
    return request('DELETE', this.#api);
  }

  #add(type: string, direction: Direction, attributes: Record<string, number>): Promise<void> {
    return request('POST', `${this.#api}/toxics`, { type, stream: `${direction}stream`, attributes });
  }
}

/** A Toxiproxy process with its proxies. */
export class Toxiproxy {
  readonly #process: Supervised;
  readonly #api: string;

  private constructor(process: Supervised, api: string) {
    this.#process = process;
    this.#api = api;
  }

  /** @param logs the directory of its log. */
  static async start(logs: string): Promise<Toxiproxy> {
    const port = await freePort();
    const process = await Supervised.start(
      {
        name: 'toxiproxy',
        command: BINARY,
        args: ['-host', HOST, '-port', String(port)],
        env: { LOG_LEVEL: 'error' },
      },
      { logs },
    );
    const api = `http://${HOST}:${port}`;
    const deadline = Date.now() + READY_MS;
    while (process.alive && Date.now() < deadline) {
      const answer = await fetch(`${api}/version`).catch(() => undefined);
      if (answer?.ok) return new Toxiproxy(process, api);
      await sleep(20);
    }
    await process.stop(0);
    throw new Error('Toxiproxy does not answer');
  }

  /**
   * @param upstream the server's port.
   * @param host what the proxy listens on.
   */
  async proxy(name: string, upstream: number, host: Listen = HOST): Promise<Link> {
    const port = await freePort();
    const listen = `${host}:${port}`;
    await request('POST', `${this.#api}/proxies`, { name, listen, upstream: `${HOST}:${upstream}` });
    return new Link(`${this.#api}/proxies/${name}`, port);
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}

async function request(method: string, url: string, body?: object): Promise<void> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`Toxiproxy: ${method} ${url}: ${await response.text()}`);
}
