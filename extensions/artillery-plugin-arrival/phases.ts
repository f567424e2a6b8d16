/** Phases of Artillery's script as phases of a profile. */
import { OptionError } from './pipeline.ts';
import { stepsOf } from './steps.ts';
import { list, type Table } from './table.ts';

const PHASE_KEYS = ['name', 'duration', 'arrivalRate', 'arrivalCount', 'rampTo', 'pause'];
/** Keys that Artillery itself adds to a phase. */
const PHASE_OWN = ['mode', 'index', 'id', 'worker', 'totalWorkers', 'startTime', 'endTime'];
const UNITS: Record<string, number> = { ms: 1e-3, s: 1, m: 60, h: 3600 };

/**
 * Phases of the closed model. When virtual users end after a scenario, config.phases defines when they begin, and so the length of
 * the profile's phases of the same names; the rest is not measured.
 */
export function begun(profiled: Table[], profile: string, phases: unknown, scenarios: unknown): Table[] {
  const steps = stepsOf(list(scenarios, 'scenarios').flatMap(({ flow }) => flow as Table[]));
  if (steps.some(({ whileTrue }) => whileTrue !== undefined)) return profiled;
  const given = list(phases, 'config.phases');
  const names = given.map(({ name }, i) => name ?? `phase ${i + 1}`);
  const wanted = profiled.map(({ name }) => name);
  const least = profiled.findLastIndex(({ measured }) => measured !== false) + 1;
  if (names.length < least || names.some((name, i) => name !== wanted[i]))
    throw new OptionError(
      `config.phases are ${names.join(', ')}, and those of ${profile} are ${wanted.join(', ')}; allowed: ${wanted.slice(0, least).join(', ')}`,
    );
  return profiled.map((phase, i) => ({ ...phase, duration: given[i]?.duration ?? phase.duration }));
}

/** A phase of Artillery as a phase of a profile. */
export function phaseOf(given: Table, i: number, unmeasured: unknown[]): Table {
  const name = String(given.name ?? `phase ${i + 1}`);
  const where = `config.phases, ${name}`;
  if (given.mode === 'poisson') throw new OptionError(`${where}: mode is poisson; allowed: uniform`);
  if (given.maxVusers !== undefined) {
    throw new OptionError(`${where}: maxVusers is set; allowed: none, since Artillery drops what exceeds it`);
  }
  const unknown = Object.keys(given).find((key) => ![...PHASE_KEYS, ...PHASE_OWN].includes(key));
  if (unknown !== undefined) {
    throw new OptionError(`${where}: ${unknown} is not known; allowed: ${PHASE_KEYS.join(', ')}`);
  }
  const { duration, arrivalRate = 0, arrivalCount, rampTo, pause } = given;
  const load =
    pause === undefined
      ? { duration, rampTo, ...(arrivalCount === undefined ? { arrivalRate } : { arrivalCount }) }
      : { pause };
  return { name, ...load, measured: !unmeasured.includes(name) };
}

/** Seconds of all phases, in the closed model with their longest drains. */
export function lengthOf(phases: Table[]): number {
  return phases.reduce(
    (sum, { duration, pause, drain }) => sum + seconds(duration ?? pause) + seconds(drain),
    0,
  );
}

/** ms by which an interval between virtual users may exceed the first one. */
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

/** Seconds from a number or a text like "2m"; NaN for a value that the recorder refuses. */
export function seconds(value: unknown = 0): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|[smh])?$/.exec(String(value)) ?? [];
  return Number(amount) * (UNITS[unit] as number);
}
