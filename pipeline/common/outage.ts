import type { Logger } from './log.ts';

/** ms until an outage that goes on with another reason than the one in the log gets a further line. */
const STILL_MS = 60_000;

/** An outage of a server, in two lines of the log: one when it begins, with the first reason, and one when it ends. */
export class Outage {
  readonly #log: Pick<Logger, 'info' | 'warn'>;
  readonly #server: string;
  readonly #now: () => number;
  #began: number | undefined;
  /** When the last line was written; `#reasons` are the reasons written so far. */
  #told = 0;
  readonly #reasons = new Set<string>();
  #answers = false;

  /**
   * @param server as it begins a sentence
   * @param now ms of the monotonic clock
   */
  constructor(log: Pick<Logger, 'info' | 'warn'>, server: string, now = () => performance.now()) {
    this.#log = log;
    this.#server = server;
    this.#now = now;
  }

  /**
   * The server is away. What later attempts say mostly follows from the first reason: it is left out, unless somebody has to change
   * a setting (`lasts`), or the outage goes on.
   */
  away(reason: string, lasts: boolean): void {
    const now = this.#now();
    this.#answers = false;
    const isFirst = this.#began === undefined;
    this.#began ??= now;
    if (this.#reasons.has(reason) || !(isFirst || lasts || now - this.#told >= STILL_MS)) return;
    this.#reasons.add(reason);
    this.#told = now;
    this.#log.warn(`${this.#server} is away: ${reason}`);
  }

  /** The server answers. */
  over(): void {
    if (this.#answers) return;
    this.#answers = true;
    const after =
      this.#began === undefined ? '' : `, after ${((this.#now() - this.#began) / 1000).toFixed(1)} s`;
    this.#log.info(`${this.#server} answers${after}`);
    this.#began = undefined;
    this.#reasons.clear();
  }
}
