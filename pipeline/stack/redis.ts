/** The Redis of a stack, or one of the user's own. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { ConfigError, queueOptions, type StackConfig } from '../common/config.ts';
import { type Left, leftIn } from '../queue/left.ts';
import { REDIS_USERS, type RedisUser, sameFor, secrets, urls } from './access.ts';
import type { ServerSetting } from './brokers.ts';
import { shortPath } from './file.ts';
import { claimPort } from './ports.ts';
import { checkRedis } from './probe.ts';
import { HOST, prepareRedis } from './services.ts';

const ANSWER_MS = 10_000;

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
  const start = async () =>
    run(await prepareRedis(dir, port, passwords, certificate, listen, data), /Ready to accept connections/);
  const old = existsSync(data);
  const { process } = await start();
  if (!old) return { redis };
  const left = await leftIn(redis.stack, ANSWER_MS);
  if (left.messages + left.deadLetters > 0) {
    checkDivision(left, config, data);
    return { redis, left };
  }
  // Without messages the rest can go, like the number of shards, which may have changed.
  await process.stop();
  await rm(data, { recursive: true });
  await start();
  return { redis };
}

/** Throws when messages are left in a queue of another kind or number of shards, which this pipeline would not read. */
function checkDivision(left: Left, { QUEUE, STREAM_SHARDS }: StackConfig, data: string): void {
  const { kind = QUEUE, shards } = left;
  if (kind === QUEUE && shards === STREAM_SHARDS) return;
  throw new ConfigError(
    `${inWords(left)} of an earlier pipeline wait in ${shortPath(data)} for one with QUEUE=${kind} STREAM_SHARDS=${shards}: ` +
      'start it so, or drop them with npm run pipeline -- --fresh',
  );
}

export function inWords({ messages, deadLetters }: Left): string {
  const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  return `${counted(messages, 'message')} and ${counted(deadLetters, 'dead letter')}`;
}
