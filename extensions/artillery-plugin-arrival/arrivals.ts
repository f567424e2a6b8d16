/**
 * Starts Artillery's virtual users by timers. Artillery itself busy-waits when they are less than 25 ms apart (nanotimer), which
 * takes a core. Here each starts a second before its request is due, so timers are exact enough, and late ones are caught up.
 */
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { type Course, coursesOf, seconds } from './phases.ts';
import type { Script } from './script.ts';
import type { Table } from './table.ts';

/** Artillery's module `arrivals`: processes by the `mode` of a phase. */
type Processes = Record<string, { process: () => Arrivals }>;

const EVENLY = 'evenly';

class Arrivals extends EventEmitter {
  readonly #course: Course;

  constructor(course: Course) {
    super();
    this.#course = course;
  }

  start(): void {
    const { length, count, comes } = this.#course;
    const began = performance.now();
    let come = 0;
    const look = () => {
      const now = performance.now() - began;
      for (; come < count && comes(come) <= now; come++) this.emit('arrival');
      if (come === count && now >= length) this.emit('finished');
      else setTimeout(look, Math.max(1, (come < count ? comes(come) : length) - now));
    };
    look();
  }
}

/**
 * Makes virtual users of a rate come by timers, in Artillery's sending thread, and phases have their length: Artillery's own ramps
 * have whole rates and whole seconds, and it ends with a stack trace for other durations.
 */
export function arriveEvenly(script: Script): void {
  const phases = script.config.phases as Table[];
  const courses = coursesOf(phases);
  const processes = processesOf(process.argv[1] as string);
  if (processes === undefined) {
    console.error('arrival: this Artillery has no module `arrivals`: its own timer may take a core');
    return;
  }
  for (const [i, phase] of phases.entries()) {
    for (const key of ['duration', 'pause']) {
      if (phase[key] !== undefined) phase[key] = `${1000 * seconds(phase[key])}ms`;
    }
    const course = courses[i] as Course;
    if (course.count === 0) continue;
    phase.mode = `${EVENLY} ${i}`;
    phase.arrivalRate = 1; // any number: 0 would be a pause
    delete phase.rampTo;
    delete phase.arrivalCount;
    processes[phase.mode as string] = { process: () => new Arrivals(course) };
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
