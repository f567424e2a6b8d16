import type { Problem } from '../common/readiness.ts';

export type { QueueKind } from '../shared/config.ts';

/** A message on its way into the queue. */
export interface Message {
  /** The JSON as posted. */
  body: string;
  /** The topic below `messages/`; it holds no line break. */
  target: string;
  /** What `formatStamps` (hops.ts) returned; empty: none. */
  stamps: string;
  /** What `traceOf` (frame.ts) returned; absent or empty: none. */
  trace?: string;
}

/** Messages that were written together. A relay acknowledges them together, when all are delivered or buried. */
export interface Entry {
  /** The id of the entry, not of a message. It orders the entries of a stream; it is empty in a list. */
  id: string;
  /** Its messages (frame.ts); none when another program wrote the entry without a frame. */
  frames: Buffer[];
  /** Counted attempts to deliver it, including the coming one unless it is `suspect`. */
  deliveries: number;
  /**
   * More than one relay died with it, or it broke a connection. The relay publishes it alone, so that it takes no other message
   * along, and calls {@link MessageQueue.attempt} before each attempt; it first splits an entry of several messages.
   */
  suspect: boolean;
  /** Why it is suspect; empty: not known. */
  reason: string;
  /** Another relay held it, and may have published some of it. */
  recovered?: boolean;
}

/** A message of an entry that is split. It gets an entry of its own. */
export type SplitMessage = Pick<Entry, 'deliveries' | 'suspect' | 'reason'> & { frame: Buffer };

export interface Claim {
  entries: Entry[];
  /** Entries that were deleted from the queue while a relay held them: they are lost. */
  deleted: number;
}

export const NOTHING: Claim = { entries: [], deleted: 0 };

/** A message that no attempt could deliver. */
export interface DeadLetter {
  /** Its id in the stream of dead letters. */
  letter: string;
  /** The message's own id, if its body has one. */
  id: string | undefined;
  target: string | undefined;
  /** Why it is here, in words. */
  reason: string;
  /** Attempts that were made. */
  deliveries: number;
  /** When it was buried, ms since the epoch on the clock of Redis. */
  buried: number;
}

/** The dead letters of a queue. They stay until somebody requeues or drops them. */
export interface Letters {
  count(): Promise<number>;
  /**
   * Yields all of them, oldest first in each shard.
   * @param idKey where messages have their ids; `id` by default, or a path like `meta.id`
   */
  list(idKey?: string): AsyncGenerator<DeadLetter>;
  /** Moves these back into the queue; resolves with those that were there. */
  requeue(letters: readonly string[]): Promise<string[]>;
  /** Drops these; resolves with those that were there. */
  drop(letters: readonly string[]): Promise<string[]>;
}

/**
 * What becomes of entries that a queue is to get back: `asked`, and its server has not answered, so whoever asks again may put them
 * in twice; `back` in the queue; or `refused`.
 */
export type Return = 'asked' | 'back' | 'refused';

/** Longest wait of one {@link MessageQueue.claim}, in ms: it also distinguishes a silent connection from a dead one. */
export const CLAIM_WAIT_MS = 1000;

/** Most entries of one {@link MessageQueue.renew} or `acknowledge`: Redis' Lua takes fewer than 8,000 values, and an entry is two. */
export const CALL_ENTRIES = 1000;

/**
 * The queue between ingest and relays. {@link openQueue} opens one of a kind; `contract.test.ts` is what each kind keeps. It writes
 * a command at once or rejects it; only a large message may wait for a connection of its own. A rejection says why by
 * {@link explain}.
 */
export interface MessageQueue {
  /** The name of its server in a sentence. */
  readonly server: string;
  /**
   * What a relay has claimed stays in the queue until it is acknowledged, so that another relay gets it: at least once. false: it is
   * lost when the relay dies, unless it signs off: at most once.
   */
  readonly keeps: boolean;
  /** Why no commands can be written now; undefined: they can. */
  readonly away: Problem | undefined;
  /** Why this process can read nothing now, though the server answers; undefined: it can. */
  readonly problem: Problem | undefined;
  /** How many shards this process reads. */
  readonly shards: number;
  readonly deadLetters: Letters;

  /** What a rejection of this queue means. */
  explain(error: Error): Problem;
  /** Whether a command failed because there was no connection, or because it broke. */
  isDisconnection(error: Error): boolean;

  /** Resolves once it can be used; rejects after `withinMs`, or with an `UnusableQueue` that no waiting would mend. */
  whenReady(withinMs: number): Promise<void>;

  /**
   * Writes all messages or none, in one round trip. Resolves when the server has acknowledged, with the depth of the queue then.
   */
  append(messages: readonly Message[]): Promise<number>;

  /** Messages in the queue: waiting, or (if it {@link keeps} them) with a relay and not acknowledged. */
  depth(): Promise<number>;

  /** Prepares the queue for relays, which start at the oldest message. A relay calls it again when the server has lost its data. */
  join(): Promise<void>;

  /**
   * Takes about `count` new messages, oldest first; waits up to {@link CLAIM_WAIT_MS} when there is none. It takes more when
   * entries hold more messages than in the claim before.
   */
  claim(consumer: string, count: number): Promise<Claim>;

  /** Takes over about `count` messages that a relay has held for longer than `idleMs` without renewing them. */
  recover(consumer: string, idleMs: number, count: number): Promise<Claim>;

  /** Takes about `count` messages that this consumer was given on a connection that broke before it read them. */
  recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim>;

  /** Records the n-th attempt to deliver an entry of one message, before it is made. */
  attempt(consumer: string, id: string, deliveries: number): Promise<void>;

  /** Keeps other relays from taking over these entries. */
  renew(consumer: string, ids: readonly string[]): Promise<void>;

  /** Removes entries whose messages are all done, in one round trip. */
  acknowledge(entries: readonly Pick<Entry, 'id' | 'frames'>[]): Promise<void>;

  /** Moves an entry of one undeliverable message to the dead letters. */
  bury(entry: Entry, deliveries: number, reason: string): Promise<void>;

  /**
   * Gives messages of an entry an entry of their own, at the end of the queue, where they hold up no other.
   * @param stays the entry stays with its other messages; else it is removed, as they have been delivered
   */
  split(entry: Entry, parts: readonly SplitMessage[], stays: boolean): Promise<void>;

  /**
   * Signs a consumer off. Other relays get what it still holds: after its lease (if the queue {@link keeps} it), else at once.
   * @param onReturn called with entries that the queue does not keep, and what has become of them
   */
  signOff(
    consumer: string,
    held: readonly Entry[],
    onReturn?: (entries: readonly Entry[], how: Return) => void,
  ): Promise<void>;

  /** The shard of an entry: one may fail while others do not. */
  shardOf(id: string): number;

  /** The shard that gets the messages of a target. A shard's messages are written together, and fail without those of others. */
  shardFor(target: string): number;

  /** What a shard is called in a sentence; undefined: it is the only one. */
  shardName(shard: number): string | undefined;

  /** Ends a waiting {@link claim}, without losing what the server is just giving. */
  interrupt(): Promise<void>;

  close(): void;
}

/** A queue that cannot be used, however long one waits. The message is one line. */
export class UnusableQueue extends Error {
  override readonly name = 'UnusableQueue';
}

/** How many messages some entries have. */
export function messagesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { frames }) => sum + frames.length, 0);
}
