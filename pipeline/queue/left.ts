import { becomeReady, openNode } from './connection.ts';
import { keysOf } from './keys.ts';
import { KINDS } from './open.ts';
import type { QueueKind } from './queue.ts';

/** Messages and dead letters that a former pipeline left in Redis. */
export interface Left {
  messages: number;
  deadLetters: number;
  /** The kind of queue; undefined: there are no messages. */
  kind: QueueKind | undefined;
  shards: number;
}

/** Counts messages in a queue of any kind and number of shards, and dead letters. */
export async function leftIn(url: string, timeoutMs: number, prefix?: string): Promise<Left> {
  const keys = keysOf(prefix);
  const redis = openNode(url, timeoutMs).on('error', () => {});
  try {
    await becomeReady(redis, timeoutMs);
    const division = await redis.get(keys.shards);
    const shards = division === null ? undefined : Number(division);
    let kind: QueueKind | undefined;
    let [messages, deadLetters] = [0, 0];
    for (const name of Object.keys(KINDS) as QueueKind[]) {
      const waiting = await KINDS[name].waiting(redis, keys, shards);
      if (waiting > 0) kind = name;
      messages += waiting;
    }
    for (const part of keys.parts(shards)) deadLetters += await redis.xlen(part.deadLetters);
    return { messages, deadLetters, kind, shards: shards ?? 1 };
  } finally {
    redis.disconnect();
  }
}
