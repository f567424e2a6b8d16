/** What went wrong in a run, counted by stage and class, each with its first example. */
import type { Run } from '../../reports/run.ts';

export class Errors {
  readonly #all = new Map<string, Run['errors'][number]>();

  add(stage: string, what: string, example: string | null): void {
    const known = this.#all.get(`${stage} ${what}`);
    if (known !== undefined) known.count++;
    else this.#all.set(`${stage} ${what}`, { stage, class: what, count: 1, example });
  }

  get all(): Run['errors'] {
    return [...this.#all.values()];
  }
}
