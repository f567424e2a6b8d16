/** The keys of a stream, or of one shard of it. */
export interface Keys {
  messages: string;
  /** The number of messages; an entry holds several. */
  depth: string;
  deadLetters: string;
}

/** The keys of a queue without shards. */
export const WHOLE: Keys = {
  messages: 'arrival:messages',
  depth: 'arrival:depth',
  deadLetters: 'arrival:dead-letters',
};

/** The key of a list. */
export const LIST = 'arrival:list';

/** The number of shards in this Redis; absent: none. The first user writes it. */
export const SHARDS = 'arrival:shards';

/** The relays: a sorted set by when each one's presence ends (ms, clock of Redis). */
export const RELAYS = 'arrival:relays';

/** The keys of a shard. The braces give all of them one slot, and so one node of a Redis Cluster. */
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
