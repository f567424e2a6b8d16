/** What the queue asks of Redis: its Lua scripts, each with its contract in its head, as commands; and transactions. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Redis, ReplyError } from 'ioredis';

function script(name: string, numberOfKeys: number, readOnly = false) {
  const lua = readFileSync(join(import.meta.dirname, 'lua', `${name}.lua`), 'utf8');
  return { lua, numberOfKeys, readOnly };
}

export const scripts = {
  forgetDepth: script('forget-depth', 2),
  acknowledgeEntries: script('acknowledge-entries', 2),
  buryEntry: script('bury-entry', 3),
  buryTaken: script('bury-taken', 1),
  splitEntry: script('split-entry', 2),
  pendingEntries: script('pending-entries', 1, true),
  recoverEntries: script('recover-entries', 1),
  readPiece: script('read-piece', 1, true),
  joinGroup: script('join-group', 1),
  takeMessages: script('take-messages', 3),
  leaveMessages: script('leave-messages', 3),
  giveBack: script('give-back', 1),
  requeueLetters: script('requeue-letters', 3),
  tidyConsumers: script('tidy-consumers', 1),
  signOff: script('sign-off', 1),
  holdLease: script('hold-lease', 1),
  sayPresent: script('say-present', 1),
  recordBroker: script('record-broker', 1),
};

/** The command in a line of the script with this SHA-1; undefined: it is not a script of ours. */
export function commandAt(sha: string, line: number): string | undefined {
  const found = Object.values(scripts).find(
    ({ lua }) => createHash('sha1').update(lua).digest('hex') === sha,
  );
  return /redis\.p?call\('(\w+)'/.exec(found?.lua.split('\n')[line - 1] ?? '')?.[1];
}

export type RawEntry = [id: Buffer, fields: Buffer[] | null];
export type PendingRow = [id: string, holder: string, idleMs: number, counter: number];
type Recovered = [id: Buffer, fields: Buffer[], counter: number, cut: number];
type Argument = Buffer | string | number;

/** A connection to Redis, with the scripts as commands. */
export interface Connection extends Redis {
  forgetDepth(key: string, depth: string): Promise<number>;
  acknowledgeEntries(key: string, depth: string, group: string, ...idsAndCounts: Argument[]): Promise<number>;
  buryEntry(key: string, depth: string, deadLetters: string, ...entry: Argument[]): Promise<number>;
  buryTaken(deadLetters: string, ...entry: Argument[]): Promise<string>;
  splitEntry(key: string, depth: string, group: string, ...entry: Argument[]): Promise<number>;
  pendingEntries(key: string, group: string, ...from: Argument[]): Promise<[ms: number, PendingRow[]]>;
  recoverEntriesBuffer(
    key: string,
    group: string,
    ...from: Argument[]
  ): Promise<[taken: Recovered[], deleted: number, seen: number]>;
  readPieceBuffer(key: string, id: Buffer, first: number, last: number): Promise<Buffer | null>;
  joinGroup(key: string, group: string): Promise<number>;
  takeMessagesBuffer(
    list: string,
    taken: string,
    seen: string,
    ...how: number[]
  ): Promise<[messages: Buffer[], cut: number]>;
  leaveMessages(list: string, taken: string, seen: string, ...how: number[]): Promise<number>;
  giveBack(key: string, ...frames: Buffer[]): Promise<number>;
  requeueLetters(deadLetters: string, key: string, depth: string, ...kindAndIds: string[]): Promise<string[]>;
  tidyConsumers(key: string, group: string, stays: string, idleMs: number): Promise<number>;
  signOff(key: string, group: string, consumer: string): Promise<number>;
  holdLease(key: string, relay: string, renewal: number, stale: string): Promise<string>;
  sayPresent(key: string, relay: string, sign: number, ...gone: string[]): Promise<string[]>;
  recordBroker(key: string, record: string, ms: number): Promise<number>;
}

export type Result = [error: Error | null, result?: unknown];

/** Runs commands in transactions of Redis. */
export class Transactions {
  /** Redis has refused the last one, and run its commands one by one. */
  #refused = false;

  /**
   * Resolves with the results of these commands once Redis has run them, one after the other; rejects when it has run none. A user
   * without the right to MULTI may still run the others: Redis runs those of the first transaction, and no further ones.
   */
  async run(redis: Connection, commands: unknown[][]): Promise<Result[]> {
    if (this.#refused) await this.#try(redis);
    const all = [['multi'], ...commands, ['exec']];
    const replies = ((await redis.pipeline(all).exec()) ?? []) as Result[];
    const [begun, [failure, results] = [null]] = [replies[0]?.[0], replies.at(-1)];
    this.#refused = begun instanceof ReplyError;
    if (this.#refused) return replies.slice(1, -1);
    // The first error is the reason for that of EXEC: Redis is full, or a replica.
    if (failure) throw replies.find(([error]) => error)?.[0];
    return (results as unknown[]).map((result) => (result instanceof Error ? [result] : [null, result]));
  }

  /** Rejects while Redis refuses transactions. */
  async #try(redis: Connection): Promise<void> {
    await redis
      .multi()
      .exec()
      .catch((error) => {
        // The error of EXEC says only that there was no MULTI.
        throw error.previousErrors?.[0] ?? error;
      });
    this.#refused = false;
  }
}
