import type { Logger } from './log.ts';
import type { Problem } from './readiness.ts';

/** Episodes of a minute that the log has; `/readyz` names each of them. */
const EPISODES = 10;
const MINUTE_MS = 60_000;

/** A part that cannot be done. */
interface Part {
  problem: Problem;
  /** Empty: what is said has no name of it. */
  name: string;
  /** ms of the monotonic clock. */
  since: number;
}

/**
 * Some work that cannot be done now, as a whole or in parts, like shards. `/readyz` names it as long as it lasts. The log has two
 * lines of each of up to ten episodes a minute: one when it begins, with the reason, and one when no part of it is left.
 */
export class Trouble {
  readonly #log: Pick<Logger, 'info' | 'warn'>;
  readonly #over: string;
  readonly #now: () => number;
  readonly #parts = new Map<string, Part>();
  #began = 0;
  /** When the last logged episodes began, ms of the monotonic clock. */
  #logged: number[] = [];
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
   * @param name of a part, for who reads it
   * @param part identifies the part; its name by default
   * @param afterMs it is said when it has lasted so long; infinity: something else says it, and this time does not count
   */
  begin(
    problem: Problem,
    { name = '', part = name, afterMs = 0 }: { name?: string; part?: string; afterMs?: number } = {},
  ): void {
    const now = this.#now();
    if (this.#parts.size === 0) this.#began = now;
    const isSilent = afterMs === Number.POSITIVE_INFINITY;
    const since = isSilent ? now : (this.#parts.get(part)?.since ?? now);
    this.#parts.set(part, { problem, name, since });
    if (now - since < afterMs || this.#told.has(problem.problem)) return;
    if (this.#told.size > 0 && problem.kind !== 'misconfigured') return;
    if (this.#told.size === 0 && !this.#isNews(now)) return;
    this.#told.add(problem.problem);
    this.#log.warn(named([name], problem).problem);
  }

  /** It is done again, or nothing of it is left to do. */
  end(part = ''): void {
    if (!this.#parts.delete(part) || this.#parts.size > 0) return;
    if (this.#told.size > 0)
      this.#log.info(`${this.#over}, after ${((this.#now() - this.#began) / 1000).toFixed(1)} s`);
    this.#told.clear();
  }

  /** Whether a new episode gets its lines: what comes and goes with each message would flood the log. */
  #isNews(now: number): boolean {
    this.#logged = this.#logged.filter((at) => now - at < MINUTE_MS);
    if (this.#logged.length >= EPISODES) return false;
    this.#logged.push(now);
    return true;
  }

  /** Whether the log has this reason of the present episode. */
  has(reason: string): boolean {
    return this.#told.has(reason);
  }

  /** Why it cannot be done, the first reason with all its parts; undefined: it can. */
  get problem(): Problem | undefined {
    return firstOf([...this.#parts.values()]);
  }
}

/** Parts that are named; the others are counted. */
const NAMED = 8;

/** A problem with the names of the parts that have it. */
export function named(parts: readonly string[], problem: Problem): Problem {
  const names = parts.filter((part) => part !== '');
  if (names.length === 0) return problem;
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return { ...problem, problem: `${names.slice(0, NAMED).join(', ')}${more}: ${problem.problem}` };
}

/** The first of these problems, with the names of all parts that have it; undefined: there is none. */
export function firstOf(parts: readonly { name: string; problem: Problem }[]): Problem | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const same = parts.filter(({ problem }) => problem.problem === first.problem.problem);
  return named(
    same.map(({ name }) => name),
    first.problem,
  );
}
