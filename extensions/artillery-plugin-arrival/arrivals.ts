/**
 * Starts Artillery's virtual users by timers. Artillery itself busy-waits when they are less than 25 ms apart (nanotimer), which
 * takes a core. Here each starts a second before its request is due, so timers are exact enough, and late ones are caught up.
 */
import { EventEmitter } from 'node:events';
import type { Artillery } from './artillery.ts';
import { type Course, coursesOf, seconds } from './phases.ts';
import type { Script } from './script.ts';
import type { Table } from './table.ts';

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
export function arriveEvenly(script: Script, artillery: Artillery): void {
  const phases = script.config.phases as Table[];
  const courses = coursesOf(phases);
  const processes = artillery.processes('its own timer may take a core');
  if (processes === undefined) return;
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
