import type { Message, Queue } from '../queue/queue.ts';
import type { IngestCounters } from './counters.ts';

/** Most messages of one write, unless a single request has more: Redis serves nobody else meanwhile. */
const WRITE_MESSAGES = 2000;

export interface OutboxEvents<Ticket> {
  /** A write was acknowledged; the queue is that deep now. */
  written: (depth: number) => void;
  /** A write failed, or got no answer: Redis may have its messages all the same. */
  failed: (error: Error) => void;
  /** What became of a request: Redis has all its messages (no error), or perhaps none. */
  settled: (ticket: Ticket, messages: number, error: Error | undefined) => void;
}

/**
 * Collects the messages of one event-loop turn, and those that come while a write is under way, and writes them
 * together when the turn ends: no timer, one write at a time, under load far fewer writes than messages. Where a turn
 * brought several, those of the next one go with them: a write costs Redis as much as dozens of messages in it. The
 * messages of a request are never divided. What is collected is bounded by who lets it in: see admission.ts.
 */
export class Outbox<Ticket> {
  readonly #queue: Pick<Queue, 'append'>;
  readonly #count: IngestCounters;
  readonly #events: OutboxEvents<Ticket>;
  #messages: Message[] = [];
  #tickets: Ticket[] = [];
  /** How many messages each ticket stands for. */
  #sizes: number[] = [];
  /** A write is under way, or will be at the end of this turn. */
  #busy = false;
  /** A turn brought several, and this is the next one. */
  #waited = false;

  constructor(queue: Pick<Queue, 'append'>, count: IngestCounters, events: OutboxEvents<Ticket>) {
    this.#queue = queue;
    this.#count = count;
    this.#events = events;
  }

  /** Takes the messages of one request. Later, and once, `settled` is called with its ticket. */
  add(ticket: Ticket, messages: readonly Message[]): void {
    for (const message of messages) this.#messages.push(message);
    this.#tickets.push(ticket);
    this.#sizes.push(messages.length);
    this.#count.unanswered += messages.length;
    if (!this.#busy) this.#schedule();
  }

  #schedule(): void {
    this.#busy = true;
    setImmediate(this.#write);
  }

  readonly #write = (): void => {
    if (this.#tickets.length > 1 && !this.#waited) {
      this.#waited = true;
      setImmediate(this.#write);
      return;
    }
    this.#waited = false;
    const write = this.#take();
    this.#queue.append(write.messages).then(
      (depth) => {
        this.#count.writes++;
        this.#count.unanswered -= write.messages.length;
        this.#events.written(depth);
        this.#settle(write, undefined);
      },
      (error: Error) => {
        this.#count.unanswered = 0;
        this.#events.failed(error);
        // What came meanwhile has not left, and would only wait for the same.
        const waiting = this.#takeAll();
        write.tickets.push(...waiting.tickets);
        write.sizes.push(...waiting.sizes);
        this.#settle(write, error);
      },
    );
  };

  #settle({ tickets, sizes }: Batch<Ticket>, error: Error | undefined): void {
    for (let i = 0; i < tickets.length; i++) {
      this.#events.settled(tickets[i] as Ticket, sizes[i] as number, error);
    }
    this.#busy = false;
    if (this.#tickets.length > 0) this.#schedule();
  }

  /** The oldest requests, as many as one write may have. */
  #take(): Batch<Ticket> {
    if (this.#messages.length <= WRITE_MESSAGES) return this.#takeAll();
    let requests = 1;
    let messages = this.#sizes[0] as number;
    for (; messages + (this.#sizes[requests] as number) <= WRITE_MESSAGES; requests++) {
      messages += this.#sizes[requests] as number;
    }
    return {
      messages: this.#messages.splice(0, messages),
      tickets: this.#tickets.splice(0, requests),
      sizes: this.#sizes.splice(0, requests),
    };
  }

  #takeAll(): Batch<Ticket> {
    const all = { messages: this.#messages, tickets: this.#tickets, sizes: this.#sizes };
    this.#messages = [];
    this.#tickets = [];
    this.#sizes = [];
    return all;
  }
}

/** What one write consists of. */
interface Batch<Ticket> {
  messages: Message[];
  tickets: Ticket[];
  sizes: number[];
}
