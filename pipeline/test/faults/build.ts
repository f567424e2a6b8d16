import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { BROKER_USERS, REDIS_USERS, secret, secrets, urls } from '../../stack/access.ts';
import { type Launch, nodeLaunch } from '../../stack/launch.ts';
import { freePort } from '../../stack/ports.ts';
import { prepareMosquitto, prepareRedis } from '../../stack/services.ts';
import { type Link, Toxiproxy } from '../toxiproxy.ts';
import { Member } from './member.ts';
import { type Replica, Rig } from './rig.ts';
import { Switch } from './switch.ts';
import { until } from './until.ts';
import type { WallClock } from './wall-clock.ts';

const HOST = '127.0.0.1';
/** The settings that replace those of the user's environment. */
const OWN = { LOG_LEVEL: 'info', QUEUE: 'stream', TLS_CA: '' };

/** Changes of the pipeline's settings. */
export interface RigOptions {
  /** The number of relays; default 2. */
  relays?: number;
  ingest?: Record<string, string>;
  relay?: Record<string, string>;
  /** A second Redis, a replica of the first: {@link Rig.failOver}. */
  replica?: boolean;
  /** Redis' wall clock, which the case sets while Redis runs. */
  redisClock?: WallClock;
  /** Settings of mosquitto.conf, by name. */
  broker?: Record<string, string | number>;
  /** Whether the broker keeps sessions and messages on disk. */
  persistence?: boolean;
}

/** Starts a rig in `dir`. After a failure nothing is left running. */
export async function startRig(dir: string, options: RigOptions = {}): Promise<Rig> {
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
  if (options.redisClock !== undefined)
    redisLaunch.env = { ...redisLaunch.env, ...options.redisClock.environment };
  const redis = await begin(redisLaunch, /Ready to accept connections/);
  const adminAt = (port: number) => `redis://admin:${admin}@${HOST}:${port}/0`;
  const replica = options.replica
    ? await startReplica(dir, redisPort, adminAt, async (port, at) => {
        const launch = await prepareRedis(at, port, redisPasswords);
        await appendFile(join(at, 'redis.acl'), `user admin reset on >${admin} ~* &* +@all\n`);
        return begin({ ...launch, name: 'redis-2' }, /Ready to accept connections/);
      })
    : undefined;
  const redisAt = replica?.address.port ?? redisPort;
  const redisUrls = urls(redisPasswords, `redis://${HOST}:${redisAt}/0`);

  const brokerPasswords = secrets(BROKER_USERS);
  const brokerLaunch = await prepareMosquitto(dir, brokerPort, brokerPasswords);
  await configure(join(dir, 'mosquitto.conf'), {
    ...(options.persistence && { persistence: 'true', persistence_location: `${dir}/` }),
    ...options.broker,
  });
  const broker = await begin(brokerLaunch, /mosquitto version .* running/);
  const brokerUrls = urls(brokerPasswords, `mqtt://${HOST}:${brokerPort}`);

  const token = secret();
  const ingestRedis = await toxiproxy.proxy('ingest-redis', redisAt);
  const ingest = await begin(
    nodeLaunch('ingest', 'ingest/server.ts', {
      ...OWN,
      REDIS_URL: ingestRedis.through(redisUrls.ingest),
      INGEST_HOST: HOST,
      INGEST_PORT: String(ingestPort),
      INGEST_TOKEN: token,
      INGEST_TOKENS_FILE: '',
      ...options.ingest,
    }),
    /listening at/,
  );

  const relays: Member[] = [];
  const relayRedis: Link[] = [];
  const relayBroker: Link[] = [];
  for (let n = 1; n <= (options.relays ?? 2); n++) {
    const links = {
      redis: await toxiproxy.proxy(`relay-${n}-redis`, redisAt),
      broker: await toxiproxy.proxy(`relay-${n}-broker`, brokerPort),
    };
    relayRedis.push(links.redis);
    relayBroker.push(links.broker);
    const env = {
      ...OWN,
      REDIS_URL: links.redis.through(redisUrls.relay),
      MQTT_URL: links.broker.through(brokerUrls.relay),
      BROKER_NAME: 'mosquitto',
      ...options.relay,
    };
    relays.push(await begin(nodeLaunch(`relay-${n}`, 'relay/main.ts', env), /relaying as/));
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
    admin: adminAt(redisAt),
    replica,
    setting: {
      ingest: { url: `http://${HOST}:${ingestPort}`, token },
      mqtt: { url: subscriberBroker.through(subscriber.toString()) },
      redis: { url: redisUrls.reader },
    },
  });
}

/** Starts a replica of the Redis at `port`, behind an address that leads to the primary. */
async function startReplica(
  dir: string,
  port: number,
  adminAt: (port: number) => string,
  start: (port: number, dir: string) => Promise<Member>,
): Promise<Replica> {
  const own = await freePort();
  const at = join(dir, 'redis-2');
  await mkdir(at);
  const member = await start(own, at);
  const primary = new Redis(adminAt(port));
  const replica = new Redis(adminAt(own));
  const { username, password } = new URL(adminAt(port));
  for (const redis of [primary, replica])
    await redis.config('SET', 'masteruser', username, 'masterauth', password);
  await replica.replicaof(HOST, String(port));
  await until(async () => (await primary.info('replication')).includes('state=online'), 'a replica');
  const address = await Switch.open(port);
  return {
    address,
    async failOver() {
      // Writes wait until the replica has all of them, so that none is lost.
      await primary.call('FAILOVER', 'TO', HOST, own);
      await until(async () => (await replica.info('replication')).includes('role:master'), 'a new primary');
      address.lead(own);
    },
    async end() {
      primary.disconnect();
      replica.disconnect();
      address.close();
      await member.end();
    },
  };
}

/** Replaces or adds settings of mosquitto.conf. */
async function configure(file: string, settings: Record<string, string | number>): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const kept = lines.filter((line) => !Object.hasOwn(settings, line.split(' ')[0] ?? ''));
  const added = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  await writeFile(file, `${[...kept, ...added].join('\n')}\n`, { mode: 0o600 });
}
