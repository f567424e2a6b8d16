/** The keys of a stream, or of one shard of it. */
export interface Keys {
  messages: string;
  /** The number of messages; an entry holds several. */
  depth: string;
  deadLetters: string;
}

/** The default prefix of keys. Pipelines with prefixes of their own share a Redis. */
export const PREFIX = 'arrival';

/** The keys of a pipeline in Redis. */
export interface QueueKeys {
  /** The keys of a queue without shards. */
  whole: Keys;
  /** Returns the keys of a shard. The braces give all of them one slot, and so one node of a Redis Cluster. */
  shard(shard: number): Keys & { lease: string };
  /** Returns the keys of each shard; undefined: those of a queue without shards. */
  parts(shards: number | undefined): Keys[];
  /** The messages of `QUEUE=list`. */
  list: string;
  /** The messages that a relay has taken from the list, and the number of those that it has seen. */
  taken(consumer: string): [messages: string, seen: string];
  /** The number of shards; absent: none. The first user writes it. */
  shards: string;
  /** The relays: a hash of the number of each one's last sign of life. */
  relays: string;
  /** The broker that the relays publish to (broker-record.ts). */
  broker: string;
  telemetry: string;
  /** The trace list of a component. */
  trace(component: string): string;
}

export function keysOf(prefix = PREFIX): QueueKeys {
  const places = (before: string): Keys => ({
    messages: `${before}messages`,
    depth: `${before}depth`,
    deadLetters: `${before}dead-letters`,
  });
  const whole = places(`${prefix}:`);
  const shard = (n: number) => ({ ...places(`${prefix}:{${n}}:`), lease: `${prefix}:{${n}}:lease` });
  return {
    whole,
    shard,
    parts: (shards) => (shards === undefined ? [whole] : Array.from({ length: shards }, (_, n) => shard(n))),
    list: `${prefix}:list`,
    taken: (consumer) => [`${prefix}:list:${consumer}:taken`, `${prefix}:list:${consumer}:seen`],
    shards: `${prefix}:shards`,
    relays: `${prefix}:relays`,
    broker: `${prefix}:broker`,
    telemetry: `${prefix}:telemetry`,
    trace: (component) => `${prefix}:trace:${component}`,
  };
}

/** The shard of a target: FNV-1a (32 bits, of UTF-16 code units) modulo their number. */
export function shardOf(target: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < target.length; i++) hash = Math.imul(hash ^ target.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % shards;
}
