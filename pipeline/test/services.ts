import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StackConfig } from '../shared/config.ts';
import { BROKER_USERS, type BrokerUser, REDIS_USERS, type RedisUser, urls } from '../stack/access.ts';
import type { Certificate } from '../stack/certificates.ts';
import type { Launch } from '../stack/launch.ts';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import { type Listen, prepareMosquitto, prepareRedis } from '../stack/services.ts';

// Settings in the environment would reach the commands under test, but not the servers that they connect to.
for (const setting of Object.keys(StackConfig.properties)) delete process.env[setting];

/** The place of a test's process: this host, a network namespace, or this host with a clock of its own. */
export interface Host {
  /** The address for other processes. */
  address: string;
  /** A command that execs another one there. */
  within: readonly string[];
}
export const HERE: Host = { address: '127.0.0.1', within: [] };
const listenOn = ({ address }: Host): Listen => (address === HERE.address ? '127.0.0.1' : '0.0.0.0');

export function launchedOn({ within }: Host, launch: Launch): Launch {
  const [command = launch.command, ...args] = [...within, launch.command, ...launch.args];
  return { ...launch, command, args };
}

export async function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'arrival-test-'));
}

export async function remove(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 3 });
}

const READY_WITHIN_MS = 30_000;
/** Those that were started. */
const services = new Set<Service>();
/** Why one of them did not start. */
let failure: Error | undefined;

/** A test's own server, which can be killed and restarted with its data. */
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

  /**
   * Rejects when the server ends before it is ready, with its last line. Then all servers of this process are removed: hooks that
   * end one after the other do not get that far, and a process with a server waits for it.
   */
  async start(): Promise<void> {
    services.add(this);
    try {
      this.#process = await Supervised.start(await this.#prepare(this.#dir), { logs: this.#dir });
      if (failure === undefined) await this.#process.says(this.#readyLine, READY_WITHIN_MS);
    } catch (error) {
      failure ??= new Error(`${(error as Error).message}: ${this.#process?.lastLines.at(-1)}`);
    }
    if (failure === undefined) return;
    await Promise.all([...services].map((service) => service.remove()));
    throw failure;
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

function secretFor<User extends string>(users: readonly User[]): Record<User, string> {
  return Object.fromEntries(users.map((user) => [user, 'secret'])) as Record<User, string>;
}

/**
 * A private Redis with the stack's users, and an admin user for the test, whose address is `url`. Call its
 * `remove()` in the test's `after`.
 */
export async function startRedis(
  certificate?: Certificate,
  host = HERE,
): Promise<{ url: string; as(user: RedisUser): string; service: Service }> {
  const port = await freePort();
  const passwords = secretFor(REDIS_USERS);
  const prepare = async (dir: string) => {
    const launch = await prepareRedis(dir, port, passwords, certificate, listenOn(host));
    const acl = join(dir, 'redis.acl');
    const rules = await readFile(acl, 'utf8');
    await writeFile(acl, rules.replace(/^user default .*$/m, 'user default reset on >secret ~* &* +@all'));
    return launchedOn(host, launch);
  };
  const service = new Service(await temporaryDirectory(), prepare, /Ready to accept connections/);
  await service.start();
  const address = `redis${certificate === undefined ? '' : 's'}://${host.address}:${port}/0`;
  const byUser = urls(passwords, address);
  return { url: urls({ default: 'secret' }, address).default, as: (user) => byUser[user], service };
}

/**
 * A private Mosquitto with the stack's users. Call its `remove()` in the test's `after`.
 * @param settings further lines of its configuration
 */
export async function startBroker(
  certificate?: Certificate,
  host = HERE,
  settings: readonly string[] = [],
): Promise<{ url(user: BrokerUser): string; service: Service }> {
  const port = await freePort();
  const passwords = secretFor(BROKER_USERS);
  const prepare = async (dir: string) => {
    const launch = await prepareMosquitto(dir, port, passwords, certificate, listenOn(host));
    await appendFile(launch.args.at(-1) as string, settings.map((line) => `${line}\n`).join(''));
    return launchedOn(host, launch);
  };
  const service = new Service(await temporaryDirectory(), prepare, / running$/);
  await service.start();
  const byUser = urls(passwords, `mqtt${certificate === undefined ? '' : 's'}://${host.address}:${port}`);
  return { url: (user) => byUser[user], service };
}

/** Waits until `holds` returns true; fails after `withinMs`. */
export async function eventually(
  holds: () => unknown | Promise<unknown>,
  what = 'the condition',
  withinMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`timed out after ${withinMs} ms, waiting for ${what}`);
    await sleep(5);
  }
}
