import type { PendingRow } from './connection.ts';

/** ms by which the time of one delivery may seem to differ between two looks: Redis reads its clock twice. */
const SAME_MS = 20;

/** An entry to take over, if this consumer still has it and by Redis' clock has held it for as long. */
export type Abandoned = [id: string, holder: string, heldMs: number];

interface Seen {
  holder: string;
  /** ms of Redis' clock; undefined: later than that clock, which went back. */
  delivered: number | undefined;
  /** ms of our clock. */
  since: number;
}

/**
 * Finds entries that their relays no longer renew. We measure that on our own clock, from look to look: an idle time of Redis is
 * wrong once its clock has stepped, by however little, and a relay that has just started cannot know that. So all that was held
 * before the first look counts from there.
 */
export class Overdue {
  #seen = new Map<string, Seen>();
  /** Our clock at the last look, ms; undefined: before the first. */
  #last: number | undefined;

  /**
   * @param ms Redis' clock
   * @param rows all entries that relays hold at that moment
   * @param consumer whose entries are never abandoned: whoever asks knows what it holds
   * @param idleMs for how long an abandoned entry has not been renewed
   * @param now ms of our monotonic clock
   * @returns abandoned entries, in the order of the rows
   */
  of(
    ms: number,
    rows: readonly PendingRow[],
    consumer: string,
    idleMs: number,
    now = performance.now(),
  ): Abandoned[] {
    // What was renewed between two looks is not older than the former. A quarter of a lease is the usual time between them, and
    // the most that a step can add.
    const oldest = this.#last === undefined ? 0 : Math.min(now - this.#last, idleMs / 4);
    this.#last = now;
    const seen = new Map<string, Seen>();
    const found: Abandoned[] = [];
    for (const [id, holder, idle] of rows) {
      if (holder === consumer) continue;
      const delivered = idle === 0 ? undefined : ms - idle;
      const last = this.#seen.get(id);
      const entry =
        last !== undefined && last.holder === holder && same(last.delivered, delivered)
          ? last
          : { holder, delivered, since: now - Math.min(idle, oldest) };
      seen.set(id, entry);
      if (now - entry.since >= idleMs) found.push([id, holder, idle]);
    }
    this.#seen = seen;
    return found;
  }
}

function same(a: number | undefined, b: number | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Math.abs(a - b) <= SAME_MS;
}
