/**
 * Measures on our own clock how long a value that others keep changing has not changed. Redis' clock may step, so neither an expiry
 * nor an idle time of Redis alone says that another relay is dead.
 */
export class Silence {
  readonly #seen = new Map<string, { value: string; since: number }>();

  /** @returns ms for which we have seen this value of a key */
  ms(key: string, value: string): number {
    const now = performance.now();
    const seen = this.#seen.get(key);
    if (seen?.value === value) return now - seen.since;
    this.#seen.set(key, { value, since: now });
    return 0;
  }

  /** Forgets all other keys. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key);
  }
}
