import type { Connection } from './connection.ts';
import { decodeFrame } from './frame.ts';

export const DEAD_LETTERS = 'arrival:dead-letters';

/** A message that no attempt could deliver. */
export interface DeadLetter {
  /** Its id in the stream of dead letters. */
  letter: string;
  /** The message's own `id`, if its body has one. */
  id: string | undefined;
  target: string | undefined;
  /** Why it is here, in words. */
  reason: string;
  /** Attempts that were made. */
  deliveries: number;
  /** When it was buried, ms since the epoch on the clock of Redis. */
  buried: number;
}

const PAGE = 500;

/** The messages that were given up. They stay until somebody requeues or drops them: nothing trims them. */
export class DeadLetters {
  readonly #redis: Connection;
  readonly #kind: string;
  readonly #queue: string;

  /** @param queue the key of the messages, which are a `kind`. */
  constructor(redis: Connection, kind: string, queue: string) {
    this.#redis = redis;
    this.#kind = kind;
    this.#queue = queue;
  }

  count(): Promise<number> {
    return this.#redis.xlen(DEAD_LETTERS);
  }

  /** All of them, oldest first. */
  async *list(): AsyncGenerator<DeadLetter> {
    let from = '-';
    for (;;) {
      const raw = await this.#redis.xrangeBuffer(DEAD_LETTERS, from, '+', 'COUNT', PAGE);
      for (const [id, fields] of raw as [Buffer, Buffer[]][]) yield letterOf(id.toString(), fields);
      const last = raw.at(-1);
      if (last === undefined || raw.length < PAGE) return;
      from = `(${last[0]}`;
    }
  }

  /** Moves these back into the queue; resolves with those that were there. */
  async requeue(letters: readonly string[]): Promise<string[]> {
    const moved: string[] = [];
    for (let i = 0; i < letters.length; i += PAGE) {
      const page = letters.slice(i, i + PAGE);
      moved.push(...(await this.#redis.requeueLetters(DEAD_LETTERS, this.#queue, this.#kind, ...page)));
    }
    return moved;
  }

  /** Throws these away; resolves with how many were there. */
  async drop(letters: readonly string[]): Promise<number> {
    let dropped = 0;
    for (let i = 0; i < letters.length; i += PAGE) {
      dropped += await this.#redis.xdel(DEAD_LETTERS, ...letters.slice(i, i + PAGE));
    }
    return dropped;
  }
}

function letterOf(letter: string, fields: readonly Buffer[]): DeadLetter {
  const values = new Map<string, Buffer>();
  for (let i = 0; i + 1 < fields.length; i += 2) values.set(String(fields[i]), fields[i + 1] as Buffer);
  const frame = values.get('frame');
  return {
    letter,
    ...contents(frame),
    reason: values.get('reason')?.toString() ?? '',
    deliveries: Number(values.get('deliveries') ?? 0),
    buried: Number.parseInt(letter, 10),
  };
}

/** What a frame tells of its message; a letter is listed even when it can not be read. */
function contents(frame: Buffer | undefined): Pick<DeadLetter, 'id' | 'target'> {
  const nothing = { id: undefined, target: undefined };
  if (frame === undefined) return nothing;
  try {
    const { target, body } = decodeFrame(frame);
    return { target, id: idOf(body) };
  } catch {
    return nothing;
  }
}

function idOf(body: Buffer): string | undefined {
  try {
    const { id } = JSON.parse(body.toString()) as { id?: unknown };
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
