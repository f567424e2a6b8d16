import { counter, type Figures, gauge } from '../common/metrics.ts';

/** What the ingest tells of itself: counts since its start, and how much it holds now. */
export interface IngestCounters {
  /** Messages that Redis acknowledged. */
  accepted: number;
  /** Requests answered 4xx: the client's mistake. */
  refused: number;
  /** Requests answered 503. */
  unavailable: number;
  /** Requests answered 500: a mistake of ours. */
  failed: number;
  /** Writes that Redis acknowledged; each has the messages of one event-loop turn at least. */
  writes: number;
  /** Now: requests that were let in and have no answer yet. */
  open: number;
  /** Now: bytes of their bodies. */
  held_bytes: number;
  /** Now: messages on the way to Redis, or without its answer yet. */
  unanswered: number;
  /** Now: messages in the queue, as Redis told last. */
  backlog: number;
}

export const noCounts = (): IngestCounters => ({
  accepted: 0,
  refused: 0,
  unavailable: 0,
  failed: 0,
  writes: 0,
  open: 0,
  held_bytes: 0,
  unanswered: 0,
  backlog: 0,
});

export const INGEST_FIGURES: Figures<IngestCounters> = {
  accepted: counter('messages_accepted_total', 'Messages that Redis acknowledged.'),
  refused: counter('requests_refused_total', "Requests answered 4xx: the client's mistake."),
  unavailable: counter('requests_unavailable_total', 'Requests answered 503.'),
  failed: counter('requests_failed_total', 'Requests answered 500: a mistake of ours.'),
  writes: counter('queue_writes_total', 'Writes that Redis acknowledged, of one message or many.'),
  open: gauge('requests_open', 'Requests let in that have no answer yet.'),
  held_bytes: gauge('requests_open_bytes', 'Bytes of the bodies of open requests.'),
  unanswered: gauge('messages_unanswered', 'Messages on the way to Redis, or without its answer yet.'),
  backlog: gauge('backlog_messages', 'Messages in the queue, as Redis told last.'),
};
