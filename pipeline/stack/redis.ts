/** The Redis of a stack, or one of the user's own. */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { PREFIX } from '../queue/keys.ts';
import { type Left, leftIn } from '../queue/open.ts';
import { ConfigError, queueOptions, type StackConfig } from '../shared/config.ts';
import { REDIS_USERS, type RedisUser, sameFor, secrets, urls } from './access.ts';
import type { ServerSetting } from './brokers.ts';
import { shortPath, writePrivateFile } from './file.ts';
import { DAEMON_PATH } from './launch.ts';
import { claimPort } from './ports.ts';
import { checkRedis } from './probe.ts';
import { HOST, prepareRedis } from './services.ts';

const ANSWER_MS = 10_000;
/** Beside Redis' data. */
const PREFIX_FILE = 'queue-prefix';

interface StartedRedis {
  /** Its address for each user. */
  redis: Record<RedisUser, string>;
  /** Messages that an earlier stack left in it; undefined: none. */
  left?: Left;
}

/** Refuses contradictory settings before anything starts. */
export function checkCluster({ REDIS_URL, REDIS_CLUSTER }: StackConfig): void {
  if (REDIS_CLUSTER && REDIS_URL === undefined)
    throw new ConfigError(
      'REDIS_CLUSTER is true, and REDIS_URL is not set; allowed: with the address of a node, as the Redis of the pipeline is not a cluster',
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
  // There are no messages, so the rest can go too: the number of shards may have changed.
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

const DIRECTORY = 'appendonlydir';
const MANIFEST = 'appendonly.aof.manifest';
const FRESH = 'npm run pipeline -- --fresh starts without them';

/**
 * Refuses files of writes without their list: without one Redis would start without their messages.
 * @param data Redis' directory
 */
async function requireManifest(data: string): Promise<void> {
  const files: string[] = await readdir(join(data, DIRECTORY)).catch(() => []);
  if (!files.some((file) => file.startsWith('appendonly.aof.') && file !== MANIFEST)) return;
  const list = await readFile(join(data, DIRECTORY, MANIFEST), 'latin1').catch(() => '');
  if (list.trim() !== '') return;
  const where = shortPath(join(data, DIRECTORY));
  throw new ConfigError(
    `${where} has Redis' messages, and ${MANIFEST}, the list of its files, is missing or empty: restore it from a copy, or ${FRESH}`,
  );
}

/**
 * whyUnreadable returns the reason why Redis did not start with the data of an earlier one, and what a repair costs: that is the
 * user's decision.
 * @param failure the one that Redis' end shows
 */
async function whyUnreadable(data: string, failure: unknown): Promise<unknown> {
  const dir = join(data, DIRECTORY);
  const manifest = join(dir, MANIFEST);
  const { code, exitCode, all } = await execa('redis-check-aof', [manifest], {
    all: true,
    reject: false,
    env: { PATH: DAEMON_PATH },
  });
  if (code === 'ENOENT' || exitCode === 0) return failure;
  const rows = [...all.matchAll(/filename=(\S+), size=(\d+), ok_up_to=(\d+),.* diff=(\d+)/g)];
  const [, file = '', size = 0, whole = 0, behind = 0] = rows.find(([, , , , diff]) => diff !== '0') ?? [];
  const writes = (await readFile(manifest, 'latin1').catch(() => '')).match(/^file \S+ .*type i.*$/gm) ?? [];
  // redis-check-aof cuts off the end of the last file only.
  if (file === '' || !writes.at(-1)?.startsWith(`file ${file} `)) {
    const says = all.trim().split('\n').at(-1);
    return new ConfigError(
      `Redis' messages in ${shortPath(dir)} are damaged, and redis-check-aof cannot repair them (${says}): ` +
        `restore the files from a copy, or ${FRESH}`,
    );
  }
  const number = (value: string | number) => Number(value).toLocaleString('en');
  return new ConfigError(
    `${shortPath(join(dir, file))} is damaged at byte ${number(whole)} of ${number(size)}, and Redis does not start with it: ` +
      `redis-check-aof --fix ${shortPath(manifest)} cuts off the last ${number(behind)} bytes, with what an ingest accepted in them ` +
      `(copy ${shortPath(data)} first); ${FRESH}, and without all others`,
  );
}
