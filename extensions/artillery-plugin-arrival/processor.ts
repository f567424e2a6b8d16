/** The functions of the script's processor, and those that the plugin adds to them; the names of the latter begin with `arrival`. */
import { like } from '../../pipeline/shared/flags.ts';
import { type Hook, watched, watchedLoop } from './hooks.ts';
import { OptionError } from './pipeline.ts';
import type { Table } from './table.ts';

/** The condition of a loop in the closed model. */
export const TURN = 'arrivalTurn';

export class Processor {
  readonly functions: Record<string, unknown>;

  constructor(own: object | undefined) {
    this.functions = { ...own };
  }

  /** Puts a watched hook in the place of each that `of`, a scenario or a request, names under `key`. */
  watch(of: Table, key: string, failed: Parameters<typeof watched>[2]): void {
    if (of[key] === undefined) return;
    of[key] = names(of[key]).map((name) => {
      const hook = this.functions[name as string];
      if (typeof hook !== 'function') {
        if (!String(name).includes('{{')) throw this.#missing(key, name); // else it is known when it is called
        return name;
      }
      const mine = `arrival ${key} ${name}`;
      this.functions[mine] = watched(String(name), hook as Hook, failed);
      return mine;
    });
  }

  /** Watches the condition of a loop of the script. */
  watchLoop(step: Table, failed: () => Promise<void>): void {
    const name = step.whileTrue as string;
    const hook = this.functions[name];
    if (typeof hook !== 'function') throw this.#missing('whileTrue', name, TURN);
    const { condition, check } = watchedLoop(name, hook as Hook, failed);
    step.whileTrue = `arrival whileTrue ${name}`;
    const first = `arrival check ${name}`;
    Object.assign(this.functions, { [step.whileTrue as string]: condition, [first]: check });
    step.loop = [{ function: first }, ...(step.loop as Table[])];
  }

  /** @param ours functions of the plugin that a script may name there */
  #missing(key: string, name: unknown, ...ours: string[]): OptionError {
    const own = Object.keys(this.functions).filter(
      (one) => typeof this.functions[one] === 'function' && !one.startsWith('arrival'),
    );
    const known = [...own, ...ours];
    const allowed = known.join(', ') || 'none, as it has no function';
    return new OptionError(
      `${key} is ${name}, which config.processor does not have${like(String(name), known)}; allowed: ${allowed}`,
    );
  }
}

/** The names of hooks: none, one or a list. */
export const names = (hooks: unknown): string[] => [hooks ?? []].flat() as string[];
