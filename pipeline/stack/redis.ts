/** The Redis of a stack, or one of the user's own. */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, queueOptions, type StackConfig } from '../common/config.ts';
import { PREFIX } from '../queue/keys.ts';
import { type Left, leftIn } from '../queue/open.ts';
import { REDIS_USERS, type RedisUser, sameFor, secrets, urls } from './access.ts';
import { requireManifest, whyUnreadable } from './append-only.ts';
import type { ServerSetting } from './brokers.ts';
import { shortPath, writePrivateFile } from './file.ts';
import { claimPort } from './ports.ts';
import { checkRedis } from './probe.ts';
import { HOST, prepareRedis } from './services.ts';

const ANSWER_MS = 10_000;
/** Beside Redis' data. */
const PREFIX_FILE = 'queue-prefix';

export interface StartedRedis {
  /** Its address for each user. */
  redis: Record<RedisUser, string>;
  /** Messages that an earlier stack left in it; undefined: none. */
  left?: Left;
}

/** Refuses contradictory settings before anything starts. */
export function checkCluster({ REDIS_URL, REDIS_CLUSTER }: StackConfig): void {
  if (REDIS_CLUSTER && REDIS_URL === undefined)
    throw new ConfigError(
      'REDIS_CLUSTER is true, and REDIS_URL is not set; allowed: with the address of a node, as the Redis of the pipeline is no cluster',
    );
}

/** @param data the directory of its data, which may have messages of an earlier stack */
export async function startRedis(setting: ServerSetting, data: string): Promise<StartedRedis> {
  const { config, dir, listen, certificate, run } = setting;
  const { REDIS_URL, REDIS_PORT } = config;
  if (REDIS_URL !== undefined) {
    await checkRedis('REDIS_URL', { url: REDIS_URL, ...queueOptions(config) });
    return { redis: sameFor(REDIS_USERS, REDIS_URL) };
  }
  const port = await claimPort('REDIS_PORT', REDIS_PORT);
  const passwords = secrets(REDIS_USERS);
  const redis = urls(passwords, `redis${certificate === undefined ? '' : 's'}://${HOST}:${port}/0`);
  const start = async (prefix: string) => {
    const launch = await prepareRedis(dir, port, passwords, certificate, listen, data, prefix);
    await writePrivateFile(join(data, PREFIX_FILE), `${prefix}\n`);
    return run(launch, /Ready to accept connections/);
  };
  const old = existsSync(data);
  const former = old ? await prefixIn(data) : config.QUEUE_PREFIX;
  if (old) await requireManifest(data);
  const { process } = await start(former).catch(async (error: unknown) => {
    throw old ? await whyUnreadable(data, error) : error;
  });
  if (!old) return { redis };
  const left = await leftIn(redis.stack, ANSWER_MS, former);
  if (left.messages + left.deadLetters > 0) {
    checkDivision(left, former, config, data);
    return { redis, left };
  }
  // Without messages the rest can go, like the number of shards, which may have changed.
  await process.stop();
  await rm(data, { recursive: true });
  await start(config.QUEUE_PREFIX);
  return { redis };
}

/** The prefix of the keys of the earlier pipeline. */
async function prefixIn(data: string): Promise<string> {
  const text = await readFile(join(data, PREFIX_FILE), 'utf8').catch(() => '');
  return text.trim() || PREFIX;
}

/** Throws when messages are left in a queue of another kind or number of shards, or behind another prefix, which this pipeline would not read. */
function checkDivision(left: Left, prefix: string, config: StackConfig, data: string): void {
  const { QUEUE, QUEUE_PREFIX, STREAM_SHARDS } = config;
  const { kind = QUEUE, shards } = left;
  if (kind === QUEUE && shards === STREAM_SHARDS && prefix === QUEUE_PREFIX) return;
  const named = prefix === PREFIX && QUEUE_PREFIX === PREFIX ? '' : ` QUEUE_PREFIX=${prefix}`;
  throw new ConfigError(
    `${inWords(left)} of an earlier pipeline wait in ${shortPath(data)} for one with QUEUE=${kind} STREAM_SHARDS=${shards}${named}: ` +
      'start it so, or drop them with npm run pipeline -- --fresh',
  );
}

export function inWords({ messages, deadLetters }: Left): string {
  const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  return `${counted(messages, 'message')} and ${counted(deadLetters, 'dead letter')}`;
}
