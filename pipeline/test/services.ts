import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import { type BrokerUser, type Launch, prepareMosquitto, prepareRedis } from '../stack/services.ts';

export async function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'arrival-test-'));
}

export async function remove(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 3 });
}

/** A real server of a test's own, which can be killed and started again with its data. */
export class Service {
  readonly #dir: string;
  readonly #prepare: (dir: string) => Promise<Launch>;
  readonly #readyLine: RegExp;
  #process: Supervised | undefined;

  constructor(dir: string, prepare: (dir: string) => Promise<Launch>, readyLine: RegExp) {
    this.#dir = dir;
    this.#prepare = prepare;
    this.#readyLine = readyLine;
  }

  async start(): Promise<void> {
    const process = await Supervised.start(await this.#prepare(this.#dir), { logs: this.#dir });
    this.#process = process;
    await eventually(() => process.lastLines.some((line) => this.#readyLine.test(line)), 'a ready server');
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.signal(signal);
  }

  /** Stops the server and removes its data. */
  async remove(): Promise<void> {
    this.signal('SIGCONT');
    await this.#process?.stop();
    await remove(this.#dir);
  }
}

/** A private Redis. Its `remove()` belongs into the test's `after`. */
export async function startRedis(): Promise<{ url: string; service: Service }> {
  const port = await freePort();
  const prepare = (dir: string) => prepareRedis(dir, port, 'secret');
  const service = new Service(await temporaryDirectory(), prepare, /Ready to accept connections/);
  await service.start();
  return { url: `redis://default:secret@127.0.0.1:${port}/0`, service };
}

/** A private Mosquitto with the stack's users. Its `remove()` belongs into the test's `after`. */
export async function startBroker(): Promise<{ url(user: BrokerUser): string; service: Service }> {
  const port = await freePort();
  const passwords = { relay: 'secret', subscriber: 'secret', stack: 'secret' };
  const prepare = (dir: string) => prepareMosquitto(dir, port, passwords);
  const service = new Service(await temporaryDirectory(), prepare, / running$/);
  await service.start();
  return { url: (user) => `mqtt://${user}:secret@127.0.0.1:${port}`, service };
}

/** Waits until `holds` does, looking every few milliseconds; fails after `withinMs`. */
export async function eventually(
  holds: () => unknown | Promise<unknown>,
  what = 'the condition',
  withinMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what} did not come about within ${withinMs} ms`);
    await sleep(5);
  }
}
