/**
 * Starts Artillery's virtual users by timers. Artillery itself busy-waits when they are less than 25 ms apart (nanotimer), which
 * takes a core. Here each starts a second before its request is due, so timers are exact enough, and late ones are caught up.
 */
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { Script } from './script.ts';

/** Artillery's module `arrivals`: processes by the `mode` of a phase, with times in ms. */
type Processes = Record<string, { process: (interval: number, duration: number) => Arrivals }>;

const EVENLY = 'evenly';

interface Phase {
  arrivalRate?: unknown;
  rampTo?: unknown;
  mode?: unknown;
}

class Arrivals extends EventEmitter {
  readonly #interval: number;
  readonly #most: number;

  constructor(interval: number, duration: number) {
    super();
    // Whole microseconds, for the same number as Artillery's own process.
    this.#interval = Math.floor(interval * 1000) / 1000;
    this.#most = Math.floor(duration / this.#interval);
  }

  start(): void {
    const began = performance.now();
    let come = 0;
    const look = () => {
      const due = Math.min(this.#most, Math.floor((performance.now() - began) / this.#interval));
      for (; come < due; come++) this.emit('arrival');
      if (come === this.#most) this.emit('finished');
      else setTimeout(look, Math.max(1, began + (come + 1) * this.#interval - performance.now()));
    };
    look();
  }
}

/** Makes virtual users of a constant rate start by timers, in Artillery's sending thread. */
export function arriveEvenly(script: Script): void {
  const processes = processesOf(process.argv[1] as string);
  if (processes === undefined) {
    console.error('arrival: this Artillery has no module `arrivals`: its own timer may take a core');
    return;
  }
  processes[EVENLY] = { process: (interval, duration) => new Arrivals(interval, duration) };
  for (const phase of script.config.phases as Phase[]) {
    if (phase.rampTo === undefined && phase.arrivalRate !== undefined) phase.mode ??= EVENLY;
  }
}

/** @param program a file of Artillery */
function processesOf(program: string): Processes | undefined {
  try {
    return createRequire(program)('arrivals') as Processes;
  } catch {
    return undefined;
  }
}
