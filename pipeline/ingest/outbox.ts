import { largeIn } from '../queue/entry-size.ts';
import type { Message, MessageQueue } from '../queue/queue.ts';
import type { IngestCounters } from './counters.ts';

/** The most messages of a write, unless one request has more: the queue serves nobody else meanwhile. */
const WRITE_MESSAGES = 2000;

interface OutboxEvents<Ticket> {
  /** Called after an acknowledged write to a shard, with the depth of the queue. */
  written: (depth: number, shard: number) => void;
  /** Called after a write failed or got no answer: the queue may still have its messages. */
  failed: (error: Error, shard: number) => void;
  /** Called for each request: the queue has all of its messages, or with a failure perhaps none of those of a shard. */
  settled: (ticket: Ticket, messages: number, failure: Failure | undefined) => void;
}

export interface Failure {
  error: Error;
  shard: number;
}

/** A request on its way, perhaps to several shards. */
interface Request<Ticket> {
  ticket: Ticket;
  messages: number;
  /** Shards that have not settled their part. */
  open: number;
  failure: Failure | undefined;
}

/**
 * Collects messages for the queue, by shard: a shard whose node is away or slow neither refuses nor delays the messages of others.
 * Each request is settled once, when all of its shards have answered.
 */
export class Outbox<Ticket> {
  readonly #queue: Pick<MessageQueue, 'append' | 'shardFor'>;
  readonly #lane: (shard: number) => Lane<Request<Ticket>>;
  readonly #lanes = new Map<number, Lane<Request<Ticket>>>();

  /** @param lingerMs how long messages are collected, from the first one on; 0: for an event-loop turn */
  constructor(
    queue: Pick<MessageQueue, 'append' | 'shardFor'>,
    count: IngestCounters,
    lingerMs: number,
    events: OutboxEvents<Ticket>,
  ) {
    this.#queue = queue;
    this.#lane = (shard) =>
      new Lane(queue, count, lingerMs, {
        written: (depth) => events.written(depth, shard),
        failed: (error) => events.failed(error, shard),
        settled: (request, error) => {
          if (error !== undefined) request.failure ??= { error, shard };
          if (--request.open === 0) events.settled(request.ticket, request.messages, request.failure);
        },
      });
  }

  /** Takes the messages of a request. Later it calls `settled` once with its ticket. */
  add(ticket: Ticket, messages: readonly Message[]): void {
    const parts = this.#parts(messages);
    const request = { ticket, messages: messages.length, open: parts.size, failure: undefined };
    for (const [shard, part] of parts) {
      let lane = this.#lanes.get(shard);
      if (lane === undefined) {
        lane = this.#lane(shard);
        this.#lanes.set(shard, lane);
      }
      lane.add(request, part);
    }
  }

  /** Whether messages of a shard wait for the queue or its answer. */
  isBusy(shard: number): boolean {
    return this.#lanes.get(shard)?.busy ?? false;
  }

  #parts(messages: readonly Message[]): Map<number, readonly Message[]> {
    const [first] = messages;
    if (messages.length === 1 && first !== undefined)
      return new Map([[this.#queue.shardFor(first.target), messages]]);
    return Map.groupBy(messages, ({ target }) => this.#queue.shardFor(target));
  }
}

interface LaneEvents<Ticket> {
  written: (depth: number) => void;
  failed: (error: Error) => void;
  settled: (ticket: Ticket, error: Error | undefined) => void;
}

/**
 * The messages of a shard: collects them, and those that come during a write, and writes them together: one write at a time. Without a time to
 * linger it writes the messages of an event-loop turn; if a turn brought several requests, it also waits for the next turn,
 * as a write costs the queue as much as dozens of messages. It never divides the messages of a request. A request with a large message
 * is written alone, so that no other one shares its refusal. admission.ts bounds what it holds.
 */
class Lane<Ticket> {
  readonly #queue: Pick<MessageQueue, 'append'>;
  readonly #count: IngestCounters;
  readonly #lingerMs: number;
  readonly #events: LaneEvents<Ticket>;
  #messages: Message[] = [];
  #tickets: Ticket[] = [];
  /** The number of messages of each ticket, and whether one is so large that the queue may refuse it. */
  #sizes: Size[] = [];
  /** A write is in progress, or scheduled. */
  #busy = false;
  /** The turn before brought several requests. */
  #waited = false;

  constructor(
    queue: Pick<MessageQueue, 'append'>,
    count: IngestCounters,
    lingerMs: number,
    events: LaneEvents<Ticket>,
  ) {
    this.#queue = queue;
    this.#count = count;
    this.#lingerMs = lingerMs;
    this.#events = events;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Takes messages of a request. Later it calls `settled` once with its ticket. */
  add(ticket: Ticket, messages: readonly Message[]): void {
    for (const message of messages) this.#messages.push(message);
    this.#tickets.push(ticket);
    this.#sizes.push({ messages: messages.length, isLarge: largeIn(messages.map(({ body }) => body)) > 0 });
    this.#count.unanswered += messages.length;
    if (!this.#busy) this.#schedule();
  }

  #schedule(): void {
    this.#busy = true;
    if (this.#lingerMs > 0) setTimeout(this.#write, this.#lingerMs);
    else setImmediate(this.#write);
  }

  readonly #write = (): void => {
    if (this.#lingerMs === 0 && this.#tickets.length > 1 && !this.#waited) {
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
        const isLarge = write.sizes[0]?.isLarge ?? false;
        if (!isLarge) this.#events.failed(error);
        // What came meanwhile has not left, and would only wait for the same, but for a refusal of what is too large.
        const waiting = isLarge ? NOTHING : this.#takeAll();
        this.#count.unanswered -= write.messages.length + waiting.messages.length;
        write.tickets.push(...waiting.tickets);
        this.#settle(write, error);
      },
    );
  };

  #settle({ tickets }: Batch<Ticket>, error: Error | undefined): void {
    for (const ticket of tickets) this.#events.settled(ticket, error);
    this.#busy = false;
    if (this.#tickets.length > 0) this.#schedule();
  }

  /** The oldest requests, as many as fit into a write. */
  #take(): Batch<Ticket> {
    let requests = 0;
    let messages = 0;
    for (const size of this.#sizes) {
      if (requests > 0 && (size.isLarge || messages + size.messages > WRITE_MESSAGES)) break;
      requests++;
      messages += size.messages;
      if (size.isLarge) break;
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

/** The content of a write. */
interface Batch<Ticket> {
  messages: Message[];
  tickets: Ticket[];
  sizes: Size[];
}

interface Size {
  messages: number;
  isLarge: boolean;
}

const NOTHING = { messages: [], tickets: [] };
