import type { Logger } from './log.ts';
import type { Problem } from './readiness.ts';

/** A part that cannot be done. */
interface Part {
  problem: Problem;
  /** ms of the monotonic clock. */
  since: number;
}

/**
 * Some work that cannot be done now, as a whole or in parts, like shards. `/readyz` names it as long as it lasts. The log has two
 * lines of each episode: one when it begins, with the reason, and one when no part of it is left.
 */
export class Trouble {
  readonly #log: Pick<Logger, 'info' | 'warn'>;
  readonly #over: string;
  readonly #now: () => number;
  readonly #parts = new Map<string, Part>();
  #began = 0;
  /** Reasons that the log has of this episode. */
  readonly #told = new Set<string>();

  /**
   * @param over the end of an episode, in a few words: what is done again
   * @param now ms of the monotonic clock
   */
  constructor(log: Pick<Logger, 'info' | 'warn'>, over: string, now = () => performance.now()) {
    this.#log = log;
    this.#over = over;
    this.#now = now;
  }

  /**
   * It cannot be done, still or from now on. What follows in the same episode gets a line of its own only if somebody has to change
   * a setting.
   * @param afterMs it is said when it has lasted so long: something else may say the same first
   */
  begin(problem: Problem, { part = '', afterMs = 0 }: { part?: string; afterMs?: number } = {}): void {
    const now = this.#now();
    if (this.#parts.size === 0) this.#began = now;
    const since = this.#parts.get(part)?.since ?? now;
    this.#parts.set(part, { problem, since });
    if (now - since < afterMs || this.#told.has(problem.problem)) return;
    if (this.#told.size > 0 && problem.kind !== 'misconfigured') return;
    this.#told.add(problem.problem);
    this.#log.warn(named([part], problem).problem);
  }

  /** It is done again, or nothing of it is left to do. */
  end(part = ''): void {
    if (!this.#parts.delete(part) || this.#parts.size > 0) return;
    if (this.#told.size > 0)
      this.#log.info(`${this.#over}, after ${((this.#now() - this.#began) / 1000).toFixed(1)} s`);
    this.#told.clear();
  }

  /** Whether this part, or without one any part, cannot be done. */
  is(part?: string): boolean {
    return part === undefined ? this.#parts.size > 0 : this.#parts.has(part);
  }

  /** Why it cannot be done, the first reason with all its parts; undefined: it can. */
  get problem(): Problem | undefined {
    const [first] = this.#parts.values();
    if (first === undefined) return undefined;
    const same = [...this.#parts].filter(([, { problem }]) => problem.problem === first.problem.problem);
    return named(
      same.map(([part]) => part),
      first.problem,
    );
  }
}

/** A problem with the names of the parts that have it. */
function named(parts: readonly string[], problem: Problem): Problem {
  const names = parts.filter((part) => part !== '').join(', ');
  return names === '' ? problem : { ...problem, problem: `${names}: ${problem.problem}` };
}
