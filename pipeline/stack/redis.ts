/** The Redis of a stack, or one of the user's own. */
import { queueOptions } from '../common/config.ts';
import { REDIS_USERS, type RedisUser, sameFor, secrets, urls } from './access.ts';
import type { ServerSetting } from './brokers.ts';
import { claimPort } from './ports.ts';
import { checkRedis } from './probe.ts';
import { HOST, prepareRedis } from './services.ts';

/** @returns its address for each user */
export async function startRedis(setting: ServerSetting): Promise<Record<RedisUser, string>> {
  const { config, dir, listen, certificate, run } = setting;
  const { REDIS_URL, REDIS_PORT } = config;
  if (REDIS_URL !== undefined) {
    await checkRedis('REDIS_URL', { url: REDIS_URL, ...queueOptions(config) });
    return sameFor(REDIS_USERS, REDIS_URL);
  }
  const port = await claimPort('REDIS_PORT', REDIS_PORT);
  const passwords = secrets(REDIS_USERS);
  await run(await prepareRedis(dir, port, passwords, certificate, listen), /Ready to accept connections/);
  return urls(passwords, `redis${certificate === undefined ? '' : 's'}://${HOST}:${port}/0`);
}
