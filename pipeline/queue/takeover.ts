import type { Connection, PendingRow } from './commands.ts';
import type { EntrySize } from './entry-size.ts';
import { bytesOf, entryOf, fieldAt } from './frame.ts';
import { type Claim, type Entry, messagesOf } from './queue.ts';

/** The result of a takeover. */
export interface Taken extends Claim {
  /** How many of the entries were looked at. */
  seen: number;
  /** Why it ended early: the consumer may have got further entries, which it has not seen. */
  failure: Error | undefined;
}

/** Takes over pending entries of a stream, in answers of at most the size of a claim. */
export class Takeover {
  readonly #key: string;
  readonly #group: string;
  readonly #prefix: string;
  readonly #size: EntrySize;

  /**
   * @param key the stream's key
   * @param prefix what the ids of entries have before the ids in Redis
   */
  constructor(key: string, group: string, prefix: string, size: EntrySize) {
    this.#key = key;
    this.#group = group;
    this.#prefix = prefix;
    this.#size = size;
  }

  /**
   * Takes over about `count` messages of these entries, which have been held for as long as their rows say. Rejects when the first
   * answer fails.
   * @param sign the consumer's sign of life (recover-entries.lua)
   */
  async run(
    redis: Connection,
    consumer: string,
    rows: readonly PendingRow[],
    count: number,
    sign: number | '',
  ): Promise<Taken> {
    const all: Taken = { entries: [], deleted: 0, seen: 0, failure: undefined };
    let bytes = 0;
    while (all.seen < rows.length && bytes < this.#size.limit) {
      const wanted = count - messagesOf(all.entries);
      if (wanted <= 0) break;
      const some = rows.slice(all.seen, all.seen + this.#size.entriesFor(wanted));
      try {
        const { entries, deleted, seen } = await this.#round(redis, consumer, some, sign);
        for (const { frames } of entries) bytes += bytesOf(frames);
        all.entries.push(...entries);
        all.deleted += deleted;
        all.seen += seen;
      } catch (error) {
        // Nobody else would get the entries of earlier answers before the consumer's lease ends.
        if (all.seen === 0) throw error;
        all.failure = error as Error;
        break;
      }
    }
    return all;
  }

  async #round(
    redis: Connection,
    consumer: string,
    rows: readonly PendingRow[],
    sign: number | '',
  ): Promise<Claim & { seen: number }> {
    const { limit } = this.#size;
    const ids = rows.flatMap((row) => row.slice(0, 3));
    const answer = redis.recoverEntriesBuffer(this.#key, this.#group, consumer, sign, limit, ...ids);
    const [taken, deleted, seen] = await this.#size.watch(answer);
    const holders = new Map(rows.map(([id, holder]) => [id, holder]));
    const claim = { entries: [] as Entry[], deleted, seen };
    for (const [id, fields, counter, cut] of taken) {
      const isOurs = holders.get(id.toString()) === consumer;
      const whole = cut > 0 ? await this.#complete(redis, id, fields, cut) : fields;
      if (whole === undefined) claim.deleted++;
      else {
        const deliveries = isOurs ? counter : Math.max(counter, 2);
        const entry = entryOf(this.#prefix, id, whole, deliveries, counter > (isOurs ? 2 : 1));
        claim.entries.push({ ...entry, recovered: !isOurs || counter > 1 });
      }
    }
    this.#size.note(claim.entries);
    return claim;
  }

  /** Reads the bytes that an answer had no room for; undefined: somebody has deleted the entry. */
  async #complete(
    redis: Connection,
    id: Buffer,
    fields: readonly Buffer[],
    cut: number,
  ): Promise<Buffer[] | undefined> {
    const at = fieldAt(fields, 'frame');
    const pieces = [fields[at] as Buffer];
    let first = (fields[at] as Buffer).length + 1;
    for (let rest = cut; rest > 0; ) {
      const last = first + Math.min(rest, this.#size.limit) - 1;
      const piece = await this.#size.watch(redis.readPieceBuffer(this.#key, id, first, last));
      if (piece === null || piece.length === 0) return undefined;
      pieces.push(piece);
      rest -= piece.length;
      first += piece.length;
    }
    return fields.with(at, Buffer.concat(pieces));
  }
}
