/** Where a stream, or one shard of it, is in Redis. */
export interface Keys {
  messages: string;
  /** How many messages are in there: an entry holds several. */
  depth: string;
  deadLetters: string;
}

/** Of a queue that is not divided. */
export const WHOLE: Keys = {
  messages: 'arrival:messages',
  depth: 'arrival:depth',
  deadLetters: 'arrival:dead-letters',
};

/** Of a queue that is a list. */
export const LIST = 'arrival:list';

/** How many shards the queue in this Redis has; absent: it is not divided. Written by the first who uses them. */
export const SHARDS = 'arrival:shards';

/** The relays that are there: a sorted set by the moment (ms, clock of Redis) up to which each has said so. */
export const RELAYS = 'arrival:relays';

/** Of a shard: what is in braces decides the slot, and so the node of a Redis Cluster; all keys of a shard are on one. */
export function keysOf(shard: number): Keys & { lease: string } {
  const key = (what: string) => `arrival:{${shard}}:${what}`;
  return {
    messages: key('messages'),
    depth: key('depth'),
    deadLetters: key('dead-letters'),
    lease: key('lease'),
  };
}

/** The shard of a target: FNV-1a (32 bits, of UTF-16 code units) modulo their number. */
export function shardOf(target: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < target.length; i++) hash = Math.imul(hash ^ target.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % shards;
}
