/** Entries that a test claims from a queue, and their content. */
import { decodeFrame } from '../queue/frame.ts';
import { type Entry, type MessageQueue, messagesOf } from '../queue/queue.ts';
import { eventually } from './services.ts';

/**
 * Claims until it has `count` messages. The size of a claim depends on earlier claims.
 * @param each how many messages a claim asks for
 */
export async function claimed(
  queue: MessageQueue,
  consumer: string,
  count: number,
  each = count,
): Promise<Entry[]> {
  const all: Entry[] = [];
  await eventually(async () => {
    all.push(...(await queue.claim(consumer, each)).entries);
    return messagesOf(all) >= count;
  }, `${count} messages`);
  return all;
}

export const framesOf = (entries: readonly Entry[]) =>
  entries.flatMap(({ frames }) => frames.map((frame) => decodeFrame(frame)));

/** Ids of messages, by the key `id` of their JSON. */
export const idsOf = (entries: readonly Entry[]): string[] =>
  framesOf(entries).map(({ body }) => JSON.parse(String(body)).id);
