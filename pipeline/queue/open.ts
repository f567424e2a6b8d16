import type { QueueOptions } from './connection.ts';
import { ListQueue } from './list.ts';
import type { Queue, QueueKind } from './queue.ts';
import { StreamQueue } from './stream.ts';

/** Opens the connection to the queue of this kind. It comes up by itself: see {@link Queue.whenReady}. */
export function openQueue(kind: QueueKind, options: QueueOptions): Queue {
  return kind === 'stream' ? new StreamQueue(options) : new ListQueue(options);
}
