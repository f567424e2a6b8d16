import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { unpackFrames } from '../queue/frame.ts';
import {
  BROKER_USERS,
  type BrokerUser,
  REDIS_USERS,
  type RedisUser,
  secret,
  secrets,
  urls,
} from '../stack/access.ts';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import { INGEST_FLAGS, type Launch, prepareMosquitto, prepareRedis } from '../stack/services.ts';
import { type FurtherOptions, Load, type LoadOptions } from './load.ts';
import { type Link, Toxiproxy } from './toxiproxy.ts';

const HOST = '127.0.0.1';
/** Entries, more than any relay holds. */
const MOST_CLAIMED = 10_000;
const READY_MS = 60_000;
const PIPELINE = join(import.meta.dirname, '..');

/** What differs from the pipeline's own settings. */
export interface RigOptions {
  /** How many relays; default 2. */
  relays?: number;
  ingest?: Record<string, string>;
  relay?: Record<string, string>;
  /** Lines of redis.conf. */
  redis?: string[];
  /** Settings of mosquitto.conf, by name. */
  broker?: Record<string, string | number>;
  /** The broker keeps sessions and messages on disk. */
  persistence?: boolean;
}

/** A process that can be signalled, killed, and started again. */
export class Member {
  readonly name: string;
  readonly #launch: Launch;
  readonly #ready: RegExp;
  readonly #logs: string;
  #starts = 0;
  #process: Supervised | undefined;

  constructor(launch: Launch, ready: RegExp, logs: string) {
    this.name = launch.name;
    this.#launch = launch;
    this.#ready = ready;
    this.#logs = logs;
  }

  /** Starts it, and waits until it says that it is ready. */
  async start(): Promise<void> {
    await this.launch();
    await this.process.says(this.#ready, READY_MS);
  }

  /** Starts it, ready or not. */
  async launch(): Promise<void> {
    this.#starts++;
    const name = this.#starts === 1 ? this.name : `${this.name}.${this.#starts}`;
    this.#process = await Supervised.start({ ...this.#launch, name }, { logs: this.#logs });
  }

  get process(): Supervised {
    return this.#process as Supervised;
  }

  signal(signal: NodeJS.Signals): void {
    this.process.signal(signal);
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.process.ended;
  }

  /** SIGTERM; resolves with how it ended and after how many ms. */
  async terminate(): Promise<{ how: string; ms: number }> {
    const since = performance.now();
    this.signal('SIGTERM');
    const how = await this.process.ended;
    return { how, ms: performance.now() - since };
  }

  /** MB of resident memory. */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.process.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  }

  async stop(): Promise<void> {
    if (this.#process === undefined) return;
    this.signal('SIGCONT');
    await this.#process.stop(3000);
  }
}

/**
 * A pipeline for one case: real servers and processes, each of which can be harmed, and a proxy between every two that
 * talk to each other.
 */
export class Rig {
  /** Where configuration, logs, data and runs are. */
  readonly dir: string;
  readonly redis: Member;
  readonly broker: Member;
  readonly ingest: Member;
  readonly relays: readonly Member[];
  /** Between the two that the name says, the client first. */
  readonly link: Readonly<{
    ingestRedis: Link;
    relayRedis: readonly Link[];
    relayBroker: readonly Link[];
    subscriberBroker: Link;
    senderIngest: Link;
  }>;
  /** The broker's addresses by user, past all proxies. */
  readonly brokerUrls: Record<BrokerUser, string>;
  readonly redisUrls: Record<RedisUser, string>;
  readonly #setting: Pick<LoadOptions, 'ingest' | 'mqtt' | 'redis'>;
  readonly #admin: string;
  readonly #toxiproxy: Toxiproxy;
  readonly #loads: Load[] = [];

  /** Starts all of it in `dir`. Leaves nothing running when that fails. */
  static async start(dir: string, options: RigOptions = {}): Promise<Rig> {
    const toxiproxy = await Toxiproxy.start(dir);
    const started: Member[] = [];
    try {
      return await build(dir, options, toxiproxy, started);
    } catch (error) {
      for (const member of started.reverse()) await member.stop();
      await toxiproxy.stop();
      throw error;
    }
  }

  constructor(parts: {
    dir: string;
    toxiproxy: Toxiproxy;
    redis: Member;
    broker: Member;
    ingest: Member;
    relays: Member[];
    link: Rig['link'];
    brokerUrls: Rig['brokerUrls'];
    redisUrls: Rig['redisUrls'];
    admin: string;
    setting: Pick<LoadOptions, 'ingest' | 'mqtt' | 'redis'>;
  }) {
    this.dir = parts.dir;
    this.redis = parts.redis;
    this.broker = parts.broker;
    this.ingest = parts.ingest;
    this.relays = parts.relays;
    this.link = parts.link;
    this.brokerUrls = parts.brokerUrls;
    this.redisUrls = parts.redisUrls;
    this.#admin = parts.admin;
    this.#setting = parts.setting;
    this.#toxiproxy = parts.toxiproxy;
  }

  /** The relay with this index. */
  relay(index: number): Member {
    return this.relays[index] as Member;
  }

  /** The proxies of one relay. */
  linksOf(index: number): { redis: Link; broker: Link } {
    return { redis: this.link.relayRedis[index] as Link, broker: this.link.relayBroker[index] as Link };
  }

  /** Starts k6 with so much load. `further` are options of k6/x/arrival. */
  async load(rate: number, seconds: number, further: FurtherOptions = {}): Promise<Load> {
    const { ingest, mqtt, ...others } = further;
    const dir = join(this.dir, `run-${this.#loads.length + 1}`);
    const load = await Load.start(
      {
        rate,
        seconds,
        redis: this.#setting.redis ?? { url: '' },
        ...others,
        ingest: { ...this.#setting.ingest, ...ingest },
        mqtt: { ...this.#setting.mqtt, ...mqtt },
      },
      dir,
      this.dir,
    );
    this.#loads.push(load);
    return load;
  }

  /** One message, posted past all proxies; what the ingest answered, and after how many ms. */
  async post(body: object | string = { id: 'probe', target: 'probe/1' }): Promise<{
    status: number;
    retryAfter: string | null;
    ms: number;
  }> {
    const since = performance.now();
    const { url, token } = this.#setting.ingest;
    const response = await fetch(`${url}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    await response.arrayBuffer();
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      ms: performance.now() - since,
    };
  }

  /** The ingest's status at a path. */
  async get(path: string): Promise<number> {
    const response = await fetch(`${this.#setting.ingest.url}${path}`);
    await response.arrayBuffer();
    return response.status;
  }

  /** Does something in Redis as a user who may do everything. */
  async inRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.#admin, {
      lazyConnect: true,
      retryStrategy: null,
      // What Redis says while it loads is an answer too.
      enableReadyCheck: false,
    });
    redis.on('error', () => {});
    await redis.connect();
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** The ingest's address, past all proxies. */
  get ingestUrl(): string {
    return this.#setting.ingest.url;
  }

  /** Messages in the queue. */
  depth(): Promise<number> {
    return this.inRedis(async (redis) => {
      const [entries, messages] = await Promise.all([
        redis.xlen('arrival:messages'),
        redis.get('arrival:depth'),
      ]);
      return entries === 0 ? 0 : Number(messages);
    });
  }

  /** Messages that relays, or one of them, have claimed and not acknowledged. */
  claimed(relay = 'relay'): Promise<number> {
    return this.inRedis(async (redis) => {
      const rows = (await redis.xpending('arrival:messages', 'relays', '-', '+', MOST_CLAIMED)) as [
        id: string,
        consumer: string,
      ][];
      const own = new Set(rows.flatMap(([id, consumer]) => (consumer.startsWith(`${relay}-`) ? [id] : [])));
      const [[oldest = '-'] = [], [newest = '-'] = []] = [rows[0], rows.at(-1)];
      const entries = await redis.xrangeBuffer('arrival:messages', oldest, newest);
      return entries
        .filter(([id]) => own.has(id.toString()))
        .reduce((sum, [, fields]) => sum + unpackFrames(fields[1] as Buffer).length, 0);
    });
  }

  async stop(): Promise<void> {
    for (const load of this.#loads) await load.stop();
    await Promise.all([this.ingest, ...this.relays].map((member) => member.stop()));
    await Promise.all([this.broker.stop(), this.redis.stop()]);
    await this.#toxiproxy.stop();
  }
}

async function build(
  dir: string,
  options: RigOptions,
  toxiproxy: Toxiproxy,
  started: Member[],
): Promise<Rig> {
  const begin = async (launch: Launch, ready: RegExp) => {
    const member = new Member(launch, ready, dir);
    started.push(member);
    await member.start();
    return member;
  };
  const [redisPort, brokerPort, ingestPort] = [await freePort(), await freePort(), await freePort()];

  const redisPasswords = secrets(REDIS_USERS);
  const admin = secret();
  const redisLaunch = await prepareRedis(dir, redisPort, redisPasswords);
  await appendFile(join(dir, 'redis.acl'), `user admin reset on >${admin} ~* &* +@all\n`);
  await appendFile(join(dir, 'redis.conf'), (options.redis ?? []).map((line) => `${line}\n`).join(''));
  const redis = await begin(redisLaunch, /Ready to accept connections/);
  const redisUrls = urls(redisPasswords, `redis://${HOST}:${redisPort}/0`);

  const brokerPasswords = secrets(BROKER_USERS);
  const brokerLaunch = await prepareMosquitto(dir, brokerPort, brokerPasswords);
  await configure(join(dir, 'mosquitto.conf'), {
    ...(options.persistence && { persistence: 'true', persistence_location: `${dir}/` }),
    ...options.broker,
  });
  const broker = await begin(brokerLaunch, /mosquitto version .* running/);
  const brokerUrls = urls(brokerPasswords, `mqtt://${HOST}:${brokerPort}`);

  const token = secret();
  const ingestRedis = await toxiproxy.proxy('ingest-redis', redisPort);
  const ingest = await begin(
    script(
      'ingest',
      'ingest/server.ts',
      {
        REDIS_URL: ingestRedis.through(redisUrls.ingest),
        INGEST_HOST: HOST,
        INGEST_PORT: String(ingestPort),
        INGEST_TOKEN: token,
        INGEST_TOKENS_FILE: '',
        ...options.ingest,
      },
      INGEST_FLAGS,
    ),
    /listening at/,
  );

  const relays: Member[] = [];
  const relayRedis: Link[] = [];
  const relayBroker: Link[] = [];
  for (let n = 1; n <= (options.relays ?? 2); n++) {
    const links = {
      redis: await toxiproxy.proxy(`relay-${n}-redis`, redisPort),
      broker: await toxiproxy.proxy(`relay-${n}-broker`, brokerPort),
    };
    relayRedis.push(links.redis);
    relayBroker.push(links.broker);
    const env = {
      REDIS_URL: links.redis.through(redisUrls.relay),
      MQTT_URL: links.broker.through(brokerUrls.relay),
      ...options.relay,
    };
    relays.push(await begin(script(`relay-${n}`, 'relay/main.ts', env), /relaying as/));
  }

  const subscriberBroker = await toxiproxy.proxy('subscriber-broker', brokerPort);
  const senderIngest = await toxiproxy.proxy('sender-ingest', ingestPort);
  const subscriber = new URL(brokerUrls.subscriber);
  return new Rig({
    dir,
    toxiproxy,
    redis,
    broker,
    ingest,
    relays,
    link: { ingestRedis, relayRedis, relayBroker, subscriberBroker, senderIngest },
    brokerUrls,
    redisUrls,
    admin: `redis://admin:${admin}@${HOST}:${redisPort}/0`,
    setting: {
      ingest: { url: `http://${HOST}:${ingestPort}`, token },
      mqtt: { url: subscriberBroker.through(subscriber.toString()) },
      redis: { url: redisUrls.reader },
    },
  });
}

function script(name: string, path: string, env: Record<string, string>, flags: string[] = []): Launch {
  return {
    name,
    command: process.execPath,
    args: [...flags, join(PIPELINE, path)],
    env: { LOG_LEVEL: 'info', QUEUE: 'stream', TLS_CA: '', PROCESS_NAME: name, ...env },
  };
}

/** Replaces settings of mosquitto.conf, or adds them. */
async function configure(file: string, settings: Record<string, string | number>): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const kept = lines.filter((line) => !Object.hasOwn(settings, line.split(' ')[0] ?? ''));
  const added = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  await writeFile(file, `${[...kept, ...added].join('\n')}\n`, { mode: 0o600 });
}

/** Waits until something holds, looking often; fails after `withinMs` with what it was. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  withinMs = READY_MS,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${withinMs / 1000} s`);
    await sleep(20);
  }
}
