import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, type QueueOptions } from './connection.ts';

/** A message on its way into the queue. */
export interface Message {
  /** The JSON as posted, bytes or text. */
  body: Buffer | string;
  /** The topic below `messages/`. */
  target: string;
  /** `formatStamps` of hops.ts; empty: none. */
  stamps: string;
}

/** A message that a relay holds until it acknowledges or buries it. */
export interface Entry {
  /** The stream's id, which orders entries; not the message's own id. */
  id: string;
  body: Buffer;
  target: string;
  stamps: string;
  /** How often it was handed to a relay, this time included. */
  deliveries: number;
}

/** What a claim brought: messages, and the ids of entries that lack a field. */
export interface Claim {
  entries: Entry[];
  malformed: { id: string; deliveries: number }[];
}

const MESSAGES = 'arrival:messages';
const DEAD_LETTERS = 'arrival:dead-letters';
const TELEMETRY = 'arrival:telemetry';
const TELEMETRY_LENGTH = 100_000;
const GROUP = 'relays';
/** More than any window of a relay. */
const PENDING_MAX = 100_000;

/** Longest wait of one {@link Queue.claim}, in ms: it also tells a silent connection from a dead one. */
export const CLAIM_WAIT_MS = 1000;

/** The stream of messages between ingest and relays: the only place that speaks Redis. */
export class Queue {
  readonly #redis: Connection;
  readonly #options: QueueOptions;
  /** Blocking reads hold a connection for themselves. Opened by the first claim. */
  #reader: Connection | undefined;
  #readerId: number | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#redis = connect(options, options.timeoutMs, options.onState);
  }

  /** Commands can be written now. */
  get ready(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Resolves once Redis answers and has loaded its data; rejects after `withinMs`. */
  whenReady(withinMs: number): Promise<void> {
    return becomeReady(this.#redis, withinMs);
  }

  /** Writes all messages or none, in one round trip, and resolves when Redis has acknowledged. */
  async append(messages: readonly Message[]): Promise<void> {
    const args: (Buffer | string)[] = [];
    for (const { body, target, stamps } of messages) args.push(body, target, stamps);
    await this.#redis.appendMessages(MESSAGES, ...args);
  }

  /** Messages in the queue: waiting, or with a relay and not acknowledged. */
  depth(): Promise<number> {
    return this.#redis.xlen(MESSAGES);
  }

  deadLetters(): Promise<number> {
    return this.#redis.xlen(DEAD_LETTERS);
  }

  /** Makes sure that the consumer group is there. It starts at the oldest message. */
  async join(): Promise<void> {
    try {
      await this.#redis.xgroup('CREATE', MESSAGES, GROUP, '0', 'MKSTREAM');
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error;
    }
  }

  /** Takes up to `count` new messages; waits up to {@link CLAIM_WAIT_MS} when there is none. */
  async claim(consumer: string, count: number): Promise<Claim> {
    const reader = await this.#openReader();
    const reply = await reader.xreadgroupBuffer(
      'GROUP',
      GROUP,
      consumer,
      'COUNT',
      count,
      'BLOCK',
      CLAIM_WAIT_MS,
      'STREAMS',
      MESSAGES,
      '>',
    );
    return sort(entriesOf(reply), () => 1);
  }

  /** Ends a {@link claim} that waits, without losing what Redis may be handing out this moment. */
  async interrupt(): Promise<void> {
    if (this.#readerId !== undefined) await this.#redis.client('UNBLOCK', this.#readerId);
  }

  /** Takes over up to `count` messages that a relay has held for longer than `idleMs` without a word. */
  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    const reply = (await this.#redis.callBuffer(
      'XAUTOCLAIM',
      MESSAGES,
      GROUP,
      consumer,
      idleMs,
      '0-0',
      'COUNT',
      count,
    )) as [cursor: Buffer, entries?: RawEntry[]];
    // A null stands for an entry that was deleted while it was held (Redis 6.2; 7 leaves it out).
    const raw = (reply[1] ?? []).filter((entry) => entry !== null);
    const [first, last] = [raw[0], raw.at(-1)];
    if (first === undefined || last === undefined) return { entries: [], malformed: [] };
    const pending = await this.#pending(consumer, first[0].toString(), last[0].toString());
    return sort(raw, (id) => pending.get(id) ?? 1);
  }

  /** Up to `count` messages that this consumer was handed on a connection that broke before it read them. */
  async recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim> {
    const pending = await this.#pending(consumer);
    const ids = [...pending.keys()].filter((id) => !holds(id)).slice(0, count);
    if (ids.length === 0) return { entries: [], malformed: [] };
    const raw = (await this.#redis.callBuffer('XCLAIM', MESSAGES, GROUP, consumer, 0, ...ids)) as RawEntry[];
    return sort(raw, (id) => (pending.get(id) ?? 0) + 1);
  }

  /** Tells the other relays that `consumer` still works on these, so that none takes them over. */
  async renew(consumer: string, ids: readonly string[]): Promise<void> {
    await this.#redis.xclaim(MESSAGES, GROUP, consumer, 0, ...ids, 'JUSTID');
  }

  /** Done with these messages: they leave the queue. One round trip. */
  async acknowledge(ids: readonly string[]): Promise<void> {
    await this.#redis.acknowledgeEntries(MESSAGES, GROUP, ...ids);
  }

  /** Moves an entry that cannot be delivered to the dead letters. */
  async bury(id: string, reason: string, deliveries: number): Promise<void> {
    await this.#redis.buryEntry(MESSAGES, DEAD_LETTERS, GROUP, id, reason, deliveries);
  }

  /** Signs a consumer off, unless it still holds messages: then they are recovered in its name. */
  async leave(consumer: string): Promise<void> {
    await this.#redis.leaveGroup(MESSAGES, GROUP, consumer);
  }

  /** The reference clock: Redis `TIME` in microseconds. */
  async time(): Promise<number> {
    const [seconds, micros] = await this.#redis.time();
    return Number(seconds) * 1e6 + Number(micros);
  }

  /** Appends one telemetry entry; `at` in Redis-clock microseconds. */
  async record(process: string, at: number, data: object): Promise<void> {
    await this.#redis.xadd(
      TELEMETRY,
      'MAXLEN',
      '~',
      TELEMETRY_LENGTH,
      '*',
      'process',
      process,
      'at',
      at,
      'data',
      JSON.stringify(data),
    );
  }

  /** What this Redis says of itself: INFO, of which a section may be named. */
  info(...sections: string[]): Promise<string> {
    return this.#redis.info(...sections);
  }

  /** Why this Redis may drop messages, or undefined when it will not. */
  async evicts(): Promise<string | undefined> {
    const memory = await this.info('memory');
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
    const limited = !/^maxmemory:0\r?$/m.test(memory);
    if (!limited || policy === undefined || policy === 'noeviction') return undefined;
    return `maxmemory-policy is ${policy}, allowed is noeviction: any other one throws messages away`;
  }

  close(): void {
    this.#reader?.disconnect();
    this.#redis.disconnect();
  }

  async #openReader(): Promise<Connection> {
    if (this.#reader === undefined) {
      this.#reader = connect(this.#options, this.#options.timeoutMs + CLAIM_WAIT_MS);
      this.#reader.on('close', () => {
        this.#readerId = undefined;
      });
    }
    const reader = this.#reader;
    await becomeReady(reader, this.#options.timeoutMs);
    // After each reconnection the id is another one.
    this.#readerId ??= await reader.client('ID');
    return reader;
  }

  /** What a consumer holds, oldest first: how often each was delivered, by id. */
  async #pending(consumer: string, from = '-', to = '+'): Promise<Map<string, number>> {
    const reply = await this.#redis.xpending(MESSAGES, GROUP, from, to, PENDING_MAX, consumer);
    const rows = reply as [id: string, consumer: string, idle: number, deliveries: number][];
    return new Map(rows.map(([id, , , deliveries]) => [id, deliveries]));
  }
}

async function becomeReady(connection: Connection, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (connection.status !== 'ready') {
    if (Date.now() > deadline) throw new Error('Redis is away');
    await sleep(5);
  }
}

type RawEntry = [id: Buffer, fields: Buffer[] | null];

function entriesOf(reply: unknown): RawEntry[] {
  return (reply as [Buffer, RawEntry[]][] | null)?.[0]?.[1] ?? [];
}

function sort(raw: readonly RawEntry[], deliveries: (id: string) => number): Claim {
  const claim: Claim = { entries: [], malformed: [] };
  for (const item of raw) {
    const id = item[0].toString();
    let body: Buffer | undefined;
    let target: string | undefined;
    let stamps = '';
    const fields = item[1] ?? [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const value = fields[i + 1] as Buffer;
      switch (fields[i]?.toString()) {
        case 'body':
          body = value;
          break;
        case 'target':
          target = value.toString();
          break;
        case 'stamps':
          stamps = value.toString();
          break;
      }
    }
    if (body === undefined || target === undefined) {
      claim.malformed.push({ id, deliveries: deliveries(id) });
    } else {
      claim.entries.push({ id, body, target, stamps, deliveries: deliveries(id) });
    }
  }
  return claim;
}
