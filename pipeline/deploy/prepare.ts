/**
 * Configuration and credentials of a pipeline in containers, made as the stack makes its own:
 *
 *     npx node pipeline/deploy/prepare.ts <directory> [compose|kubernetes]
 *
 * With QUEUE_PREFIX they all use it. What is there already is kept: containers that run have its passwords. Which file is whose: README.md.
 */
import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { PREFIX } from '../queue/keys.ts';
import { ConfigError, IngestConfig, readConfig, StackConfig } from '../shared/config.ts';
import { isEntry } from '../shared/entry.ts';
import {
  BROKER_USERS,
  brokerAclFile,
  REDIS_USERS,
  redisAclFile,
  SUBSCRIBER_STATUS,
  secret,
  secrets,
  urls,
} from '../stack/access.ts';
import { writePrivateFile } from '../stack/file.ts';
import { nginxConfig } from '../stack/nginx.ts';
import { mosquittoConfig, redisConfig } from '../stack/services.ts';

/** Where containers find the files. */
const HOME = '/run/arrival';
const ENGINES = ['compose', 'kubernetes'] as const;
type Engine = (typeof ENGINES)[number];

/** The stack's own default ports, and names of services that both engines know. */
const INGEST = 18_080;
const REDIS = 16_379;
const MQTT = 11_883;
const listen = '0.0.0.0';

/** REDIS_MEMORY is 60 % of the container's limit, 2 GiB (redis.yaml): while Redis rewrites its log, it needs more than it holds. */
const REDIS_MEMORY = '1228mb';

/** What Mosquitto makes of a password: PBKDF2 with SHA-512, as `mosquitto_passwd` does. */
export function hashed(password: string, salt = randomBytes(12)): string {
  const rounds = 101;
  const key = pbkdf2Sync(password, salt, rounds, 64, 'sha512');
  return `$7$${rounds}$${salt.toString('base64')}$${key.toString('base64')}`;
}

/** The files by name. */
export function files(engine: Engine, prefix = PREFIX): Record<string, string[]> {
  const [redisPasswords, brokerPasswords, token] = [secrets(REDIS_USERS), secrets(BROKER_USERS), secret()];
  const redis = urls(redisPasswords, `redis://redis:${REDIS}/0`);
  const mqtt = urls(brokerPasswords, `mqtt://mosquitto:${MQTT}`);
  const broker = {
    listen,
    port: MQTT,
    user: 'mosquitto',
    users: `${HOME}/mosquitto.users`,
    acl: `${HOME}/mosquitto.acl`,
  } as const;
  const stack = {
    ingest: { url: `http://${engine === 'compose' ? 'nginx' : 'ingest'}:${INGEST}`, token },
    redis: { url: redis.reader },
    ...(prefix !== PREFIX && { division: { prefix } }),
    mqtt: {
      url: `mqtt://mosquitto:${MQTT}`,
      username: 'subscriber',
      password: brokerPasswords.subscriber,
      status: SUBSCRIBER_STATUS,
    },
    ...(engine === 'compose' && { oneHost: true }),
    facts: { topology: engine },
  };
  const named = prefix === PREFIX ? [] : [`QUEUE_PREFIX=${prefix}`];
  return {
    'redis.acl': redisAclFile(redisPasswords, prefix),
    'redis.conf': [
      ...redisConfig({ listen, port: REDIS, acl: `${HOME}/redis.acl`, data: '/data' }),
      `maxmemory ${REDIS_MEMORY}`,
    ],
    'mosquitto.acl': brokerAclFile(),
    'mosquitto.conf': mosquittoConfig(broker),
    ...(engine === 'kubernetes' && {
      'mosquitto-durable.conf': mosquittoConfig({ ...broker, data: '/data' }),
    }),
    'mosquitto.users': BROKER_USERS.map((user) => `${user}:${hashed(brokerPasswords[user])}`),
    'ingest.tokens': [token],
    'ingest.env': [`REDIS_URL=${redis.ingest}`, `INGEST_TOKENS_FILE=${HOME}/ingest.tokens`, ...named],
    'relay.env': [`REDIS_URL=${redis.relay}`, `MQTT_URL=${mqtt.relay}`, ...named],
    'operator.env': [`REDIS_URL=${redis.operator}`, ...named],
    'stack.json': [JSON.stringify(stack, null, 2)],
    ...(engine === 'compose' && { 'nginx.conf': [nginx()] }),
  };
}

function nginx(): string {
  return nginxConfig('/tmp', {
    listen,
    port: INGEST,
    ingests: ['ingest-1', 'ingest-2'].map((name) => `http://${name}:${INGEST}`),
    bodyLimit: IngestConfig.properties.BODY_LIMIT.default,
  });
}

async function main([directory, word = 'compose', ...more]: string[]): Promise<void> {
  const { QUEUE_PREFIX } = readConfig(Type.Object({ QUEUE_PREFIX: StackConfig.properties.QUEUE_PREFIX }));
  const engine = ENGINES.find((name) => name === word);
  if (directory === undefined || directory.startsWith('-') || engine === undefined || more.length > 0) {
    throw new ConfigError(`prepare.ts: allowed: <directory>, and ${ENGINES.join(' or ')} (compose)`);
  }
  const made = join(directory, 'stack.json');
  if (existsSync(made)) {
    console.log(`${directory} is prepared already`);
    return;
  }
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // stack.json last: it says that all are there.
  const { 'stack.json': stack = [], ...others } = files(engine, QUEUE_PREFIX);
  for (const [name, lines] of [...Object.entries(others), ['stack.json', stack] as const])
    await writePrivateFile(join(directory, name), `${lines.join('\n')}\n`);
  console.log(`${directory} is prepared for ${engine}`);
}

if (isEntry(import.meta)) {
  main(process.argv.slice(2)).catch((error: Error) => {
    console.error(error.message);
    process.exit(1);
  });
}
