import { join } from 'node:path';
import { Redis } from 'ioredis';
import mqtt, { type MqttClient } from 'mqtt';
import type { Problem } from '../../common/readiness.ts';
import { decodeFrame, unpackFrames } from '../../queue/frame.ts';
import { type BrokerUser, SUBSCRIBER_STATUS } from '../../stack/access.ts';
import type { Link, Toxiproxy } from '../toxiproxy.ts';
import { type FurtherOptions, Load, type LoadOptions } from './load.ts';
import type { Member } from './member.ts';
import type { Switch } from './switch.ts';

/** More entries than any relay holds. */
const MOST_CLAIMED = 10_000;

/** A replica of the rig's Redis. */
export interface Replica {
  /** Leads to the primary; open connections stay. */
  readonly address: Switch;
  /** Makes it the primary, and the old one its replica. Nothing is lost. */
  failOver(): Promise<void>;
  end(): Promise<void>;
}

/** The parts of a rig. */
interface RigParts {
  /** The directory of configuration, logs, data and runs. */
  readonly dir: string;
  readonly redis: Member;
  readonly broker: Member;
  readonly ingest: Member;
  readonly relays: readonly Member[];
  /** Proxies, named by client and server. */
  readonly link: Readonly<{
    ingestRedis: Link;
    relayRedis: readonly Link[];
    relayBroker: readonly Link[];
    subscriberBroker: Link;
    senderIngest: Link;
  }>;
  /** The broker's addresses by user, without proxies. */
  readonly brokerUrls: Record<BrokerUser, string>;
  /** Redis' address with a user that has all rights. */
  readonly admin: string;
  readonly replica: Replica | undefined;
  readonly toxiproxy: Toxiproxy;
  /** Default settings of a load. */
  readonly setting: Required<Pick<LoadOptions, 'ingest' | 'mqtt' | 'redis'>>;
}

/**
 * A pipeline for a case: real servers and processes that can be harmed, with a proxy between every two that talk to each
 * other.
 */
export class Rig {
  readonly dir: string;
  readonly redis: Member;
  readonly broker: Member;
  readonly ingest: Member;
  readonly relays: readonly Member[];
  readonly link: RigParts['link'];
  readonly brokerUrls: RigParts['brokerUrls'];
  readonly #setting: RigParts['setting'];
  readonly #admin: string;
  readonly #replica: Replica | undefined;
  readonly #toxiproxy: Toxiproxy;
  readonly #loads: Load[] = [];
  readonly #watchers: MqttClient[] = [];
  #over = false;

  constructor(parts: RigParts) {
    this.dir = parts.dir;
    this.redis = parts.redis;
    this.broker = parts.broker;
    this.ingest = parts.ingest;
    this.relays = parts.relays;
    this.link = parts.link;
    this.brokerUrls = parts.brokerUrls;
    this.#admin = parts.admin;
    this.#setting = parts.setting;
    this.#replica = parts.replica;
    this.#toxiproxy = parts.toxiproxy;
  }

  /** Lets Redis fail over to its replica (`replica: true`). */
  async failOver(): Promise<void> {
    await this.#replica?.failOver();
  }

  /** The relay with this index. */
  relay(index: number): Member {
    return this.relays[index] as Member;
  }

  /** The proxies of one relay. */
  linksOf(index: number): { redis: Link; broker: Link } {
    return { redis: this.link.relayRedis[index] as Link, broker: this.link.relayBroker[index] as Link };
  }

  /** Starts k6 with a load. `further` are options of k6/x/arrival. */
  async load(rate: number, seconds: number, further: FurtherOptions = {}): Promise<Load> {
    if (this.#over) throw new Error('there is no load: the case is over');
    const { ingest, mqtt, ...others } = further;
    const dir = join(this.dir, `run-${this.#loads.length + 1}`);
    const own = this.#setting;
    const options = {
      ...{ rate, seconds, redis: own.redis },
      ...others,
      ingest: { ...own.ingest, ...ingest },
      mqtt: { ...own.mqtt, ...mqtt },
    };
    const load = await Load.start(options, dir, this.dir);
    this.#loads.push(load);
    if (this.#over) await load.stop();
    return load;
  }

  /** Posts a message without proxies. Returns the answer, and after how many ms. */
  async post(body: object | string = { id: 'probe', target: 'probe/1' }): Promise<{
    status: number;
    retryAfter: string | null;
    ms: number;
  }> {
    const since = performance.now();
    const { url, token } = this.#setting.ingest;
    const response = await fetch(`${url}/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        connection: 'close',
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    await response.arrayBuffer();
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      ms: performance.now() - since,
    };
  }

  /** The problems that the ingest names at /readyz. */
  async problems(): Promise<string[]> {
    const response = await fetch(`${this.#setting.ingest.url}/readyz`, {
      headers: { connection: 'close' },
    });
    const { problems } = (await response.json()) as { problems: Problem[] };
    return problems.map(({ problem }) => problem);
  }

  /** Runs commands in Redis with all rights. */
  async inRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.#admin, {
      lazyConnect: true,
      retryStrategy: null,
      // An answer of a loading Redis counts too.
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

  /** The ingest's address, without proxies. */
  get ingestUrl(): string {
    return this.#setting.ingest.url;
  }

  /** Messages in the queue: a stream with or without shards, or a list. */
  depth(): Promise<number> {
    return this.inRedis(async (redis) => {
      const streams = await redis.keys('arrival:*messages');
      const counted = streams.map(async (stream) => {
        const [entries, messages] = await Promise.all([
          redis.xlen(stream),
          redis.get(stream.replace(/messages$/, 'depth')),
        ]);
        return entries === 0 ? 0 : Number(messages);
      });
      const all = [...(await Promise.all(counted)), await redis.llen('arrival:list')];
      return all.reduce((sum, messages) => sum + messages, 0);
    });
  }

  /** Ids of messages that relays (or one) have claimed and not acknowledged. */
  claimed(relay = 'relay'): Promise<string[]> {
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
        .flatMap(([, fields]) => unpackFrames(fields[1] as Buffer))
        .map((frame) => JSON.parse(decodeFrame(frame).body.toString()).id);
    });
  }

  /** Collects ids of messages that the broker takes from now on. */
  async taken(): Promise<{ ids: ReadonlySet<string>; close(): Promise<void> }> {
    const mark = `${SUBSCRIBER_STATUS}mark`;
    const client = await mqtt.connectAsync(this.brokerUrls.subscriber, { protocolVersion: 5 }, false);
    this.#watchers.push(client);
    if (this.#over) await client.endAsync(true);
    const ids = new Set<string>();
    let marked = false;
    client.on('message', (topic, body) => {
      if (topic === mark) marked = true;
      else if (marked) ids.add(JSON.parse(body.toString()).id);
    });
    await client.subscribeAsync(['messages/#', mark]);
    // Messages after the mark are new.
    await client.publishAsync(mark, '');
    return { ids, close: () => client.endAsync(true) };
  }

  /** Stops everything. */
  async stop(): Promise<void> {
    this.#over = true;
    for (const load of this.#loads) await load.stop();
    for (const client of this.#watchers) await client.endAsync(true);
    await Promise.all([this.ingest, ...this.relays].map((member) => member.end()));
    await this.#replica?.end();
    await Promise.all([this.broker.end(), this.redis.end()]);
    await this.#toxiproxy.stop();
  }
}
