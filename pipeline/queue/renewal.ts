import type { Redis } from 'ioredis';

/** The least time between two renewals of a connection, ms. */
const EVERY_MS = 1000;

const last = new WeakMap<object, number>();
const renewed = new WeakSet<object>();

/**
 * Closes a connection for a new one, at most once a second: its server is the wrong one, and the address may lead to another one
 * by now. Open commands reject.
 */
export function renew(redis: Redis): void {
  // While it connects, it looks the address up by itself; and a client of a cluster without a node would never come back.
  if (redis.status !== 'ready' && redis.status !== 'connect') return;
  const now = performance.now();
  if (now - (last.get(redis) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return;
  last.set(redis, now);
  renewed.add(redis);
  redis.disconnect(true);
}

/** Whether {@link renew} has closed it, and not the server; of each close once. */
export const isRenewed = (redis: Redis): boolean => renewed.delete(redis);
