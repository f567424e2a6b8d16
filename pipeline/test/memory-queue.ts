import type { Problem } from '../common/readiness.ts';
import { contentsOf } from '../queue/dead-letters.ts';
import { encodeFrame } from '../queue/frame.ts';
import {
  CLAIM_WAIT_MS,
  type Claim,
  type DeadLetter,
  type Entry,
  type Message,
  type MessageQueue,
  messagesOf,
  NOTHING,
  type SplitMessage,
} from '../queue/queue.ts';

interface Stored extends Entry {
  /** The consumer that has it; undefined: it waits. */
  holder: string | undefined;
  /** When it was claimed or renewed, ms of the monotonic clock. */
  renewed: number;
}

/** What the queues of some processes share: the memory of this one. */
export class MemoryServer {
  entries: Stored[] = [];
  readonly letters = new Map<string, { entry: Entry; deliveries: number; reason: string; buried: number }>();
  /** Settles when messages come. */
  news = Promise.withResolvers<void>();
  #ids = 0;

  add(parts: readonly (Omit<Entry, 'id'> & { frames: Buffer[] })[]): void {
    for (const part of parts)
      this.entries.push({ ...part, id: `${++this.#ids}`, holder: undefined, renewed: 0 });
    this.news.resolve();
    this.news = Promise.withResolvers();
  }

  /** Removes an entry, once. */
  remove(id: string): boolean {
    const before = this.entries.length;
    this.entries = this.entries.filter((entry) => entry.id !== id);
    return this.entries.length < before;
  }
}

/** A toy kind of queue: one file, and a line in the table of the contract. It knows no Redis. */
export class MemoryQueue implements MessageQueue {
  readonly server = 'the memory';
  readonly keeps = true;
  readonly shards = 1;
  readonly problem = undefined;
  readonly #server: MemoryServer;
  #interrupted = Promise.withResolvers<void>();
  #closed = false;

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  get away(): Problem | undefined {
    return this.#closed ? { problem: 'the memory is away', kind: 'shared' } : undefined;
  }

  explain({ message }: Error): Problem {
    return { problem: message, kind: 'shared' };
  }

  isDisconnection({ message }: Error): boolean {
    return message === this.away?.problem;
  }

  async whenReady(): Promise<void> {
    this.#check();
  }

  async join(): Promise<void> {
    this.#check();
  }

  async append(messages: readonly Message[]): Promise<number> {
    this.#check();
    const frames = messages.map((message) => Buffer.from(encodeFrame(message)));
    this.#server.add([{ frames, deliveries: 1, suspect: false, reason: '' }]);
    return this.depth();
  }

  async depth(): Promise<number> {
    this.#check();
    return messagesOf(this.#server.entries);
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    this.#check();
    const waits = () => this.#server.entries.some(({ holder }) => holder === undefined);
    if (!waits()) {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLAIM_WAIT_MS).unref());
      await Promise.race([this.#server.news.promise, this.#interrupted.promise, late]);
    }
    return this.#take(consumer, count, ({ holder }) => holder === undefined);
  }

  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    this.#check();
    const due = performance.now() - idleMs;
    const dead = ({ holder, renewed }: Stored) =>
      holder !== undefined && holder !== consumer && renewed <= due;
    return this.#take(consumer, count, dead, (entry) => {
      // The second relay that dies with it makes it suspect.
      entry.suspect ||= entry.deliveries > 1;
      entry.deliveries = Math.max(2, entry.deliveries);
      entry.recovered = true;
    });
  }

  async recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim> {
    this.#check();
    return this.#take(consumer, count, ({ id, holder }) => holder === consumer && !holds(id));
  }

  async attempt(consumer: string, id: string, deliveries: number): Promise<void> {
    for (const entry of this.#held(consumer, [id])) entry.deliveries = deliveries;
  }

  async renew(consumer: string, ids: readonly string[]): Promise<void> {
    for (const entry of this.#held(consumer, ids)) entry.renewed = performance.now();
  }

  async acknowledge(entries: readonly Pick<Entry, 'id'>[]): Promise<void> {
    this.#check();
    for (const { id } of entries) this.#server.remove(id);
  }

  async bury(entry: Entry, deliveries: number, reason: string): Promise<void> {
    this.#check();
    if (!this.#server.remove(entry.id)) return;
    this.#server.letters.set(entry.id, { entry, deliveries, reason, buried: Date.now() });
  }

  async split(entry: Entry, parts: readonly SplitMessage[], stays: boolean): Promise<void> {
    this.#check();
    const there = this.#server.entries.some(({ id }) => id === entry.id);
    if (!there) return;
    if (!stays) this.#server.remove(entry.id);
    this.#server.add(parts.map(({ frame, ...rest }) => ({ ...rest, frames: [frame] })));
  }

  async signOff(): Promise<void> {
    this.#check();
  }

  shardOf(): number {
    return 0;
  }

  shardFor(): number {
    return 0;
  }

  shardName(): string | undefined {
    return undefined;
  }

  async interrupt(): Promise<void> {
    this.#interrupted.resolve();
    this.#interrupted = Promise.withResolvers();
  }

  close(): void {
    this.#closed = true;
  }

  get deadLetters() {
    const server = this.#server;
    const remove = async (letters: readonly string[], then: (entry: Entry) => void) =>
      letters.filter((letter) => {
        const found = server.letters.get(letter);
        if (found !== undefined) then(found.entry);
        return server.letters.delete(letter);
      });
    return {
      count: async () => server.letters.size,
      async *list(idKey = 'id'): AsyncGenerator<DeadLetter> {
        for (const [letter, { entry, ...rest }] of server.letters)
          yield { letter, ...contentsOf(entry.frames[0], idKey.split('.')), ...rest };
      },
      requeue: (letters: readonly string[]) =>
        remove(letters, ({ frames }) => server.add([{ frames, deliveries: 1, suspect: false, reason: '' }])),
      drop: (letters: readonly string[]) => remove(letters, () => {}),
    };
  }

  #take(
    consumer: string,
    count: number,
    fits: (entry: Stored) => boolean,
    change: (entry: Stored) => void = () => {},
  ): Claim {
    const claim: Claim = { ...NOTHING, entries: [] };
    for (const entry of this.#server.entries) {
      if (messagesOf(claim.entries) >= count) break;
      if (!fits(entry)) continue;
      change(entry);
      entry.holder = consumer;
      entry.renewed = performance.now();
      const { holder, renewed, ...taken } = entry;
      claim.entries.push(taken);
    }
    return claim;
  }

  #held(consumer: string, ids: readonly string[]): Stored[] {
    this.#check();
    return this.#server.entries.filter(({ id, holder }) => holder === consumer && ids.includes(id));
  }

  #check(): void {
    if (this.#closed) throw new Error('the memory is away');
  }
}
