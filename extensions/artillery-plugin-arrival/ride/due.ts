/**
 * When the requests of a virtual user are due. Its first steps are due when its phase should have started it; later ones
 * when the step before ended, plus the think time.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Artillery, Process } from '../artillery.ts';
import { monotonic } from '../thread.ts';

/** A virtual user as its phase plans it, µs. */
interface Start {
  /** When it should come. */
  due: number;
  /** When it came. */
  came: number;
}

/** The virtual user that begins in this turn of the event loop; undefined: nobody plans it. */
let starting: Start | undefined;
/** The same later, for engines that connect before their first step; undefined: the script has none of them. */
let connecting: AsyncLocalStorage<Start> | undefined;

/**
 * Watches the timers by which Artillery's phases start virtual users, and changes none. A Poisson process plans no
 * times: its virtual users are due when they come.
 * @param connects a scenario connects before its first step
 */
export function watchPhases(artillery: Artillery, connects: boolean): void {
  if (connects) connecting = new AsyncLocalStorage();
  const uniform = artillery.processes('virtual users are due when they come')?.uniform;
  if (uniform !== undefined) {
    const make = uniform.process;
    uniform.process = (interval, duration) => evenly(make(interval, duration), Math.floor(interval * 1000));
  }
  const driftless = artillery.driftless();
  if (driftless === undefined) return;
  const repeat = driftless.setDriftlessInterval;
  driftless.setDriftlessInterval = (call, ms, ...rest: []) => {
    if (call.name !== 'arrivals') return repeat(call, ms, ...rest); // the ramp's
    const began = monotonic();
    let count = 0;
    return repeat(() => beginning(began + ++count * ms * 1000, call), ms, ...rest);
  };
}

function evenly(process: Process, interval: number): Process {
  const { emit, start } = process;
  let [began, count] = [0, 0];
  process.start = () => {
    began = monotonic();
    return start.call(process);
  };
  process.emit = (name, ...args) => {
    if (name !== 'arrival') return emit.call(process, name, ...args);
    return beginning(began + ++count * interval, () => emit.call(process, name, ...args));
  };
  return process;
}

function beginning<T>(due: number, call: () => T): T {
  const came = monotonic();
  starting = { due: Number.isFinite(due) ? Math.min(due, came) : came, came };
  try {
    return connecting === undefined ? call() : connecting.run(starting, call);
  } finally {
    starting = undefined;
  }
}

/** The planned time of a request, and whether a phase planned it. */
export interface Due {
  at: number;
  byPhase: boolean;
}

/** Follows the steps of one virtual user. */
export class Session {
  /** When its next request is due; undefined: as soon as its step begins. */
  #planned: number | undefined;
  #byPhase = false;
  #functionBegan = 0;
  /** When the step that has begun is due; undefined: none has. */
  #step: Due | undefined;

  /** @param start how its phase planned it, when that is known */
  constructor(start = starting ?? connecting?.getStore()) {
    const now = monotonic();
    // The virtual user may have connected since it came: that counts as a step of its own.
    this.#planned = start === undefined ? now : start.due + now - start.came;
    this.#byPhase = start !== undefined;
  }

  /** Adds a think time, s; NaN: it is not known beforehand. */
  think(seconds: number): void {
    if (Number.isNaN(seconds)) this.over();
    else this.#planned = (this.#planned ?? monotonic()) + seconds * 1e6;
  }

  functionBegins(): void {
    this.#functionBegan = monotonic();
  }

  functionEnds(): void {
    if (this.#planned !== undefined) this.#planned += monotonic() - this.#functionBegan;
  }

  /** A request begins: the next step is due when it has ended. */
  over(): void {
    this.#planned = undefined;
    this.#byPhase = false;
    this.#step = undefined;
  }

  /** A step begins: a request, or several in parallel. */
  begins(): void {
    const now = monotonic();
    this.#step = { at: Math.min(this.#planned ?? now, now), byPhase: this.#byPhase };
  }

  /** A message of the step that has begun is sent: when it is due. */
  sends(): Due {
    if (this.#step === undefined) this.begins();
    const step = this.#step as Due;
    this.over();
    this.#step = step; // others may be parallel to it
    return step;
  }
}
