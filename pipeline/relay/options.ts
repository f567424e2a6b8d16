import type { Logger } from '../common/log.ts';
import { counter, Durations, gauge } from '../common/metrics.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { Broker } from './broker.ts';
import type { PublisherOptions } from './publisher.ts';

export interface RelayOptions {
  queue: MessageQueue;
  broker: Broker;
  qos: 0 | 1;
  /** The reference clock, µs. */
  now: () => number;
  /** This relay's unique name in the consumer group. */
  consumer: string;
  log: Logger;
  /** One message at a time: claims the next when the last has left the queue. */
  serial?: boolean;
  /** Messages of a claim, about, as it takes whole entries. */
  batch: number;
  /** The most messages claimed and not with the broker; as many again may wait for their acknowledgement. */
  window: number;
  /** Bytes of claimed messages at which it stops claiming. */
  memory: number;
  /** ms without a PUBACK until the connection counts as dead. */
  timeoutMs: number;
  /** ms without renewal until another relay may take over an entry. */
  leaseMs: number;
  /** Attempts before a message is buried. */
  deliveries: number;
  /** These two are passed to the {@link PublisherOptions}. */
  spans?: PublisherOptions['spans'];
  trace?: PublisherOptions['trace'];
  idKey?: string;
}

/** The relay's own metrics: counts since its start, and how much it holds now. */
export const RELAY_FIGURES = {
  claimed: counter('messages_claimed_total', 'Messages taken from the queue for the first time.'),
  recovered: counter('messages_recovered_total', 'Messages taken over from a relay that held them too long.'),
  published: counter('messages_published_total', 'Messages that the broker has taken.'),
  acknowledged: counter('messages_acknowledged_total', 'Messages that left the queue because they are done.'),
  dead_lettered: counter('messages_dead_lettered_total', 'Messages moved to the dead letters.'),
  deleted: counter(
    'entries_deleted_total',
    'Entries, of one message or some, that somebody deleted while a relay held them.',
  ),
  shards: gauge('shards', 'Shards of the queue that this relay reads.'),
  held: gauge('messages_held', 'Messages claimed and not yet acknowledged.'),
  in_flight: gauge('messages_in_flight', 'Messages published that the broker has not acknowledged.'),
};

/** How long a message waits for a relay, and stays in it. */
export function relayDurations(): { queue: Durations; relay: Durations } {
  return {
    queue: new Durations(
      'arrival_queue_seconds',
      'From when a message was ready for the queue until a relay claimed it; each claim counts.',
    ),
    relay: new Durations(
      'arrival_relay_seconds',
      'From when a relay claimed a message until it published it; each time it is published counts.',
    ),
  };
}

export type RelayCounters = Record<keyof typeof RELAY_FIGURES, number>;
