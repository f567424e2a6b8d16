import { openNode } from './connection.ts';
import { keysOf, LIST, SHARDS, WHOLE } from './keys.ts';
import { becomeReady, type QueueKind } from './queue.ts';

/** Messages and dead letters that a former pipeline left in Redis. */
export interface Left {
  messages: number;
  deadLetters: number;
  /** The kind of queue; undefined: there are no messages. */
  kind: QueueKind | undefined;
  shards: number;
}

/** Counts messages in a queue of any kind and number of shards, and dead letters. */
export async function leftIn(url: string, timeoutMs: number): Promise<Left> {
  const redis = openNode(url, timeoutMs).on('error', () => {});
  try {
    await becomeReady(redis, timeoutMs);
    const division = await redis.get(SHARDS);
    const shards = Number(division ?? 1);
    const parts = division === null ? [WHOLE] : Array.from({ length: shards }, (_, n) => keysOf(n));
    const listed = await redis.llen(LIST);
    let [messages, deadLetters] = [listed, 0];
    for (const part of parts) {
      const entries = await redis.xlen(part.messages);
      if (entries > 0) messages += Math.max(entries, Number(await redis.get(part.depth)));
      deadLetters += await redis.xlen(part.deadLetters);
    }
    const kind = listed > 0 ? 'list' : messages > 0 ? 'stream' : undefined;
    return { messages, deadLetters, kind, shards };
  } finally {
    redis.disconnect();
  }
}
