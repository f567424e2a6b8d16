import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BROKER_USERS, REDIS_USERS, secret, secrets, urls } from '../../../pipeline/stack/access.ts';
import { type Launch, nodeLaunch } from '../../../pipeline/stack/launch.ts';
import { freePort } from '../../../pipeline/stack/ports.ts';
import { prepareMosquitto, prepareRedis } from '../../../pipeline/stack/services.ts';
import { type Link, Toxiproxy } from '../../lab/toxiproxy.ts';
import { Member } from './member.ts';
import { Rig } from './rig.ts';

const HOST = '127.0.0.1';
/** Instead of the user's environment. */
const OWN = { LOG_LEVEL: 'info', QUEUE: 'stream', TLS_CA: '' };

/** Changes of the pipeline's settings. */
export interface RigOptions {
  /** The number of relays; default 2. */
  relays?: number;
  ingest?: Record<string, string>;
  relay?: Record<string, string>;
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
      redis: await toxiproxy.proxy(`relay-${n}-redis`, redisPort),
      broker: await toxiproxy.proxy(`relay-${n}-broker`, brokerPort),
    };
    relayRedis.push(links.redis);
    relayBroker.push(links.broker);
    const env = {
      ...OWN,
      REDIS_URL: links.redis.through(redisUrls.relay),
      MQTT_URL: links.broker.through(brokerUrls.relay),
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
    admin: `redis://admin:${admin}@${HOST}:${redisPort}/0`,
    setting: {
      ingest: { url: `http://${HOST}:${ingestPort}`, token },
      mqtt: { url: subscriberBroker.through(subscriber.toString()) },
      redis: { url: redisUrls.reader },
    },
  });
}

/** Replaces or adds settings of mosquitto.conf. */
async function configure(file: string, settings: Record<string, string | number>): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const kept = lines.filter((line) => !Object.hasOwn(settings, line.split(' ')[0] ?? ''));
  const added = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  await writeFile(file, `${[...kept, ...added].join('\n')}\n`, { mode: 0o600 });
}
