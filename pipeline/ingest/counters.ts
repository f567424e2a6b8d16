import type { IncomingMessage } from 'node:http';
import { counter, Durations, gauge } from '../common/metrics.ts';

/** The ingest's own metrics: counts since its start, and how much it holds now. */
export const INGEST_FIGURES = {
  accepted: counter('messages_accepted_total', 'Messages that the queue acknowledged.'),
  refused: counter('requests_refused_total', "Requests answered 4xx: the client's mistake."),
  unavailable: counter('requests_unavailable_total', 'Requests answered 503.'),
  throttled: counter('answers_throttled_total', 'Answers held back since the queue was deep.'),
  failed: counter('requests_failed_total', 'Requests answered 500: a mistake of ours.'),
  /** Each has the messages of one event-loop turn at least. */
  writes: counter('queue_writes_total', 'Writes that the queue acknowledged, of one message or many.'),
  open: gauge('requests_open', 'Requests let in that have no answer yet.'),
  held_bytes: gauge('requests_open_bytes', 'Bytes of the bodies of open requests.'),
  unanswered: gauge('messages_unanswered', 'Messages on the way to the queue, or without its answer yet.'),
  backlog: gauge('backlog_messages', 'Messages in the queue, as it last reported.'),
};

export type IngestCounters = Record<keyof typeof INGEST_FIGURES, number>;

const refused = new WeakSet<IncomingMessage>();

/** Counts a refused request once: a body that ends early is an error of its connection, and of the request too. */
export function countRefused(counters: Pick<IngestCounters, 'refused'>, request: IncomingMessage): void {
  if (!refused.has(request)) counters.refused++;
  refused.add(request);
}

/** How long a message takes in the ingest. */
export function ingestSeconds(): Durations {
  return new Durations(
    'arrival_ingest_seconds',
    'From when the ingest saw the request until the message was ready for the queue.',
  );
}

export function noCounts(): IngestCounters {
  return Object.fromEntries(Object.keys(INGEST_FIGURES).map((name) => [name, 0])) as IngestCounters;
}
