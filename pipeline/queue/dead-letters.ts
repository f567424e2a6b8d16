import type { Connection } from './commands.ts';
import { decodeFrame } from './frame.ts';
import type { Keys } from './keys.ts';

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

/** The operations on dead letters. */
export type Letters = Pick<DeadLetters, 'count' | 'list' | 'requeue' | 'drop'>;

const PAGE = 500;

/** The dead letters. They stay until somebody requeues or drops them. */
export class DeadLetters {
  readonly #redis: Connection;
  readonly #kind: string;
  readonly #keys: Keys;

  /** @param kind of the queue */
  constructor(redis: Connection, kind: string, keys: Keys) {
    this.#redis = redis;
    this.#kind = kind;
    this.#keys = keys;
  }

  count(): Promise<number> {
    return this.#redis.xlen(this.#keys.deadLetters);
  }

  /**
   * All of them, oldest first.
   * @param idKey where messages have their ids, like `meta.id`.
   */
  async *list(idKey = 'id'): AsyncGenerator<DeadLetter> {
    const path = idKey.split('.');
    let from = '-';
    for (;;) {
      const raw = await this.#redis.xrangeBuffer(this.#keys.deadLetters, from, '+', 'COUNT', PAGE);
      for (const [id, fields] of raw as [Buffer, Buffer[]][]) yield letterOf(id.toString(), fields, path);
      const last = raw.at(-1);
      if (last === undefined || raw.length < PAGE) return;
      from = `(${last[0]}`;
    }
  }

  /** Moves these back into the queue; resolves with those that were there. */
  async requeue(letters: readonly string[]): Promise<string[]> {
    const moved: string[] = [];
    const { deadLetters, messages, depth } = this.#keys;
    for (let i = 0; i < letters.length; i += PAGE) {
      const page = letters.slice(i, i + PAGE);
      moved.push(...(await this.#redis.requeueLetters(deadLetters, messages, depth, this.#kind, ...page)));
    }
    return moved;
  }

  /** Drops these; resolves with those that were there. */
  async drop(letters: readonly string[]): Promise<string[]> {
    const dropped: string[] = [];
    for (let i = 0; i < letters.length; i += PAGE) {
      const page = letters.slice(i, i + PAGE);
      const pipeline = this.#redis.pipeline();
      for (const letter of page) pipeline.xdel(this.#keys.deadLetters, letter);
      const replies = (await pipeline.exec()) ?? [];
      for (const [error] of replies) if (error) throw error;
      dropped.push(...page.filter((_, n) => replies[n]?.[1] === 1));
    }
    return dropped;
  }
}

function letterOf(letter: string, fields: readonly Buffer[], idPath: readonly string[]): DeadLetter {
  const values = new Map<string, Buffer>();
  for (let i = 0; i + 1 < fields.length; i += 2) values.set(String(fields[i]), fields[i + 1] as Buffer);
  const frame = values.get('frame');
  return {
    letter,
    ...contentsOf(frame, idPath),
    reason: values.get('reason')?.toString() ?? '',
    deliveries: Number(values.get('deliveries') ?? 0),
    buried: Number.parseInt(letter, 10),
  };
}

/** Id and target of the message in a frame; both may be unreadable. */
export function contentsOf(
  frame: Buffer | undefined,
  idPath: readonly string[],
): Pick<DeadLetter, 'id' | 'target'> {
  let target: string | undefined;
  let id: unknown;
  try {
    const decoded = decodeFrame(frame ?? Buffer.alloc(0));
    target = decoded.target;
    id = JSON.parse(decoded.body.toString());
  } catch {}
  for (const key of idPath) id = (id as Record<string, unknown> | null | undefined)?.[key];
  return { target, id: typeof id === 'string' ? id : undefined };
}
