import type { Connection } from './commands.ts';
import { decodeFrame } from './frame.ts';
import type { Keys } from './keys.ts';
import type { DeadLetter, Letters, QueueKind } from './queue.ts';

const PAGE = 500;

/** The dead letters in one stream of Redis. They stay until somebody requeues or drops them. */
export class DeadLetters implements Letters {
  readonly #redis: Connection;
  readonly #kind: QueueKind;
  readonly #keys: Keys;
  readonly #prefix: string;

  /**
   * @param kind the kind of queue to which they go back
   * @param prefix what their ids have before the ids in Redis; letters whose ids begin otherwise are not here
   */
  constructor(redis: Connection, kind: QueueKind, keys: Keys, prefix = '') {
    this.#redis = redis;
    this.#kind = kind;
    this.#keys = keys;
    this.#prefix = prefix;
  }

  count(): Promise<number> {
    return this.#redis.xlen(this.#keys.deadLetters);
  }

  async *list(idKey = 'id'): AsyncGenerator<DeadLetter> {
    const path = idKey.split('.');
    let from = '-';
    for (;;) {
      const raw = await this.#redis.xrangeBuffer(this.#keys.deadLetters, from, '+', 'COUNT', PAGE);
      for (const [id, fields] of raw as [Buffer, Buffer[]][])
        yield letterOf(this.#prefix, id.toString(), fields, path);
      const last = raw.at(-1);
      if (last === undefined || raw.length < PAGE) return;
      from = `(${last[0]}`;
    }
  }

  requeue(letters: readonly string[]): Promise<string[]> {
    const { deadLetters, messages, depth } = this.#keys;
    return this.#inPages(letters, (page) =>
      this.#redis.requeueLetters(deadLetters, messages, depth, this.#kind, ...page),
    );
  }

  drop(letters: readonly string[]): Promise<string[]> {
    return this.#inPages(letters, async (page) => {
      const pipeline = this.#redis.pipeline();
      for (const id of page) pipeline.xdel(this.#keys.deadLetters, id);
      const replies = (await pipeline.exec()) ?? [];
      for (const [error] of replies) if (error) throw error;
      return page.filter((_, n) => replies[n]?.[1] === 1);
    });
  }

  /** Runs `work` with the ids in Redis of those letters that may be here. */
  async #inPages(
    letters: readonly string[],
    work: (page: readonly string[]) => Promise<string[]>,
  ): Promise<string[]> {
    const prefix = this.#prefix;
    const own = letters
      .filter((letter) => letter.startsWith(prefix))
      .map((letter) => letter.slice(prefix.length));
    const done: string[] = [];
    for (let i = 0; i < own.length; i += PAGE) done.push(...(await work(own.slice(i, i + PAGE))));
    return done.map((id) => prefix + id);
  }
}

/** The dead letters of several shards as one. */
export function joined(shards: readonly Letters[]): Letters {
  const each = async <T>(work: (letters: Letters) => Promise<T>) => Promise.all(shards.map(work));
  return {
    count: async () => (await each((letters) => letters.count())).reduce((sum, count) => sum + count, 0),
    async *list(idKey?: string) {
      for (const letters of shards) yield* letters.list(idKey);
    },
    requeue: async (ids) => (await each((letters) => letters.requeue(ids))).flat(),
    drop: async (ids) => (await each((letters) => letters.drop(ids))).flat(),
  };
}

function letterOf(
  prefix: string,
  id: string,
  fields: readonly Buffer[],
  idPath: readonly string[],
): DeadLetter {
  const values = new Map<string, Buffer>();
  for (let i = 0; i + 1 < fields.length; i += 2) values.set(String(fields[i]), fields[i + 1] as Buffer);
  const frame = values.get('frame');
  return {
    letter: prefix + id,
    ...contentsOf(frame, idPath),
    reason: values.get('reason')?.toString() ?? '',
    deliveries: Number(values.get('deliveries') ?? 0),
    buried: Number.parseInt(id, 10),
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
