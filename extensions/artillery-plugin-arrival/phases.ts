/** Phases and times of Artillery's script. */
import type { Table } from './table.ts';

/** A phase of Artillery as a phase of a profile. */
export function phaseOf(given: Table, i: number, unmeasured: unknown[]): Table {
  const name = String(given.name ?? `phase ${i + 1}`);
  const { duration, pause } = given;
  const [arrivalRate = 0, arrivalCount, rampTo] = [given.arrivalRate, given.arrivalCount, given.rampTo].map(
    numeric,
  );
  const load =
    pause === undefined
      ? { duration, rampTo, ...(arrivalCount === undefined ? { arrivalRate } : { arrivalCount }) }
      : { pause };
  return { name, ...load, measured: !unmeasured.includes(name) };
}

/** The phases of a script for the report; their rates are those of virtual users. */
export function phasesOf(phases: unknown, unmeasured: unknown): Table[] {
  const names = new Set<string>();
  return ((phases ?? []) as Table[]).map(
    ({ name, duration, pause, arrivalRate, arrivalCount, rampTo }, i) => {
      let called = String(name ?? `phase ${i + 1}`);
      if (names.has(called)) called = `${called} (${i + 1})`;
      names.add(called);
      const length = seconds(pause ?? duration) || 1;
      const rate = Number(arrivalRate ?? Number(arrivalCount ?? 0) / length) || 0;
      return {
        name: called,
        duration: length,
        arrivalRate: pause === undefined ? Math.max(rate, 1e-3) : 1e-3,
        ...(pause === undefined && rampTo !== undefined && { rampTo: Number(rampTo) || 0 }),
        measured: ![unmeasured ?? []].flat().includes(called),
      };
    },
  );
}

/** A number, where a variable of the environment has made it a text. */
function numeric(value: unknown): unknown {
  return typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
}

/** Seconds of all phases, in the closed model with their longest drains. */
export function lengthOf(phases: Table[]): number {
  return phases.reduce(
    (sum, { duration, pause, drain }) => sum + seconds(duration ?? pause) + seconds(drain),
    0,
  );
}

/** When the virtual users of a phase come: the n-th of all when the n-th request is due. */
export interface Course {
  /** The length of the phase, ms. */
  length: number;
  count: number;
  /** Returns the time from the begin of the phase until the k-th virtual user comes, ms; k begins at 0. */
  comes: (k: number) => number;
}

/** The courses of phases. As in the recorder's schedule the fractions of a virtual user carry over. */
export function coursesOf(phases: Table[]): Course[] {
  let total = 0;
  return phases.map(({ duration, pause, arrivalRate, arrivalCount, rampTo }) => {
    const length = seconds(duration ?? pause);
    const from = Number(arrivalRate ?? Number(arrivalCount ?? 0) / length) || 0;
    const to = Number(rampTo ?? from);
    const before = total;
    total += ((from + to) / 2) * length;
    const first = wholes(before);
    const comes = (k: number) =>
      1000 * secondsUntil(Math.max(0, first + k - before), from, (to - from) / length);
    return { length: 1000 * length, count: wholes(total) - first, comes };
  });
}

/** Requests of a schedule up to an integral of its rate, but for what rounding adds. */
const wholes = (integral: number) => Math.ceil(integral - 1e-6);

/** Seconds until so many have come at a rate that begins with `from` and grows by `slope` each second. */
function secondsUntil(count: number, from: number, slope: number): number {
  if (count === 0) return 0;
  return (2 * count) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * count)));
}

/** The most by which an interval between virtual users may exceed the first one, ms. */
export function spreadOf(phases: Table[]): number {
  const intervals = phases.map(intervalOf).filter((interval) => interval > 0);
  return Math.max(0, ...intervals) - (intervals[0] ?? 0);
}

/** The longest interval between two virtual users of a phase, ms, a second at most; 0: there are none. */
function intervalOf({ duration, arrivalRate, arrivalCount, rampTo }: Table): number {
  const rate = Number(arrivalRate ?? Number(arrivalCount ?? 0) / seconds(duration));
  if (!(rate > 0 || Number(rampTo) > 0)) return 0;
  return Math.min(1000, 1000 / Math.max(rate, Math.min(1, Number(rampTo ?? 0))));
}

/** The time-out of a request, s. */
export function timeoutOf(config: Table): number {
  const http = (config.http ?? {}) as Table;
  return seconds(config.timeout ?? http.timeout ?? 10) || 10;
}

const UNITS: [RegExp, number][] = [
  [/^(ms|msecs?|milliseconds?)$/i, 1e-3],
  [/^(s|secs?|seconds?)?$/i, 1],
  [/^(m|mins?|minutes?)$/i, 60],
  [/^(h|hrs?|hours?)$/i, 3600],
  [/^(d|days?)$/i, 86_400],
];

/** Seconds of a number or a text as Artillery reads it, like 10, "10", "2m" or "500 ms"; NaN: it is another one. */
export function seconds(value: unknown = 0): number {
  const [, amount, unit = ''] = /^\s*(-?\d*\.?\d+)\s*([a-z]*)\s*$/i.exec(String(value)) ?? [];
  return Number(amount) * (UNITS.find(([names]) => names.test(unit))?.[1] ?? Number.NaN);
}

/** Seconds of a think time as Artillery takes it: without a unit whole seconds, or else ms. */
export function thinkTime(value: unknown): number {
  const bare = Number(value);
  return Number.isNaN(bare) || Number.isInteger(bare) ? seconds(value) : bare / 1000;
}
