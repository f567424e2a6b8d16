import { explainRedis } from './problems.ts';
import type { Store } from './store.ts';

interface TraceListOptions {
  store: Pick<Store, 'trace'>;
  /** The owner of the list: `ingest` or `relay`. */
  component: string;
  /** Traces one message in so many, the same ones in every component. */
  every: number;
  /** The reference clock, µs. */
  now: () => number;
  /** Where a message has its id: `id`, or a path like `meta.id`. */
  idKey: string;
  /** Called when times could not be written; `what` is one short sentence. */
  onTrouble: (what: string) => void;
}

/** Most times that wait for Redis; further ones are dropped. */
const WAITING_MAX = 10_000;

/**
 * Pushes the time of every n-th message to a Redis list of the component, for pipelines whose messages cannot carry
 * stamps. k6 joins the lists by id.
 */
export class TraceList {
  readonly #options: TraceListOptions;
  readonly #path: readonly string[];
  #waiting: string[] = [];
  #busy = false;
  #troubled = false;

  constructor(options: TraceListOptions) {
    this.#options = options;
    this.#path = options.idKey.split('.');
  }

  /** Records that the component has this message. */
  note(message: unknown, at?: number): void {
    const id = idOf(message, this.#path);
    if (id === undefined || !isTraced(id, this.#options.every)) return;
    if (this.#waiting.length >= WAITING_MAX) {
      this.#trouble('Redis does not take the times of traced messages: some are missing');
      return;
    }
    this.#waiting.push(JSON.stringify({ id, time: at ?? this.#options.now() }));
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(() => this.#write());
  }

  /** Does the same with the JSON of a message. */
  noteBody(json: Buffer, at: number): void {
    try {
      this.note(JSON.parse(json.toString()), at);
    } catch {
      // No JSON, no id: another program wrote the message.
    }
  }

  async #write(): Promise<void> {
    const { store, component } = this.#options;
    while (this.#waiting.length > 0) {
      const entries = this.#waiting;
      this.#waiting = [];
      try {
        await store.trace(component, entries);
        this.#troubled = false;
      } catch (error) {
        this.#trouble(
          `the times of ${entries.length} traced messages are lost: ${explainRedis(error as Error)}`,
        );
      }
    }
    this.#busy = false;
  }

  #trouble(what: string): void {
    if (!this.#troubled) this.#options.onTrouble(what);
    this.#troubled = true;
  }
}

function idOf(message: unknown, path: readonly string[]): string | undefined {
  let id = message;
  for (const key of path) id = (id as Record<string, unknown> | null | undefined)?.[key];
  return typeof id === 'string' ? id : undefined;
}

/** The id in the JSON of a message; undefined: it has none. */
export function idIn(json: Buffer, idKey: string): string | undefined {
  try {
    return idOf(JSON.parse(json.toString()), idKey.split('.'));
  } catch {
    return undefined;
  }
}

/**
 * Whether this id is one of every `every`. Ids that end in a number behind a dot, as ours do, are chosen by it:
 * 0, every, 2 × every. Others are by their FNV-1a hash (32 bits, of UTF-16 code units).
 */
export function isTraced(id: string, every: number): boolean {
  const sequence = /\.(\d{1,15})$/.exec(id)?.[1];
  if (sequence !== undefined) return Number(sequence) % every === 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  return hash % every === 0;
}
