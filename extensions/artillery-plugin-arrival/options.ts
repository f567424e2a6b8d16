/** Reads and checks Artillery's script before anything starts, and makes the recorder's options. The recorder checks their values. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { findPipeline, OptionError } from './pipeline.ts';
import { ROOT } from './place.ts';
import type { ArrivalOptions } from './script.ts';

export type Table = Record<string, unknown>;

export interface Options {
  /** The profile's phases have `vus` and define the run; else config.phases do. */
  closed: boolean;
  /** Phases and flows, as in a profile of k6. */
  profile: { name: string; text: string };
  /** Seconds of all phases, in the closed model with their longest drains. */
  length: number;
  /** ms by which an interval between virtual users may exceed the first one. */
  spread: number;
  /** Bytes of the largest request, about. */
  largest: number;
  /** s */
  timeout: unknown;
  /** From config.plugins.arrival, whose other options are the recorder's. */
  prefix: unknown;
  qos: unknown;
  given: Table;
}

const KEYS = Object.keys({
  profile: 0,
  prefix: 0,
  qos: 0,
  id: 0,
  drain: 0,
  idle: 0,
  canary: 0,
  limits: 0,
} satisfies Record<keyof ArrivalOptions, 0>);
const PHASE_KEYS = ['name', 'duration', 'arrivalRate', 'arrivalCount', 'rampTo', 'pause'];
/** Keys that Artillery itself adds to a phase. */
const PHASE_OWN = ['mode', 'index', 'id', 'worker', 'totalWorkers', 'startTime', 'endTime'];
const UNITS: Record<string, number> = { ms: 1e-3, s: 1, m: 60, h: 3600 };

/**
 * @param script as Artillery has read it
 * @param path of its file; a profile's path is relative to it
 * @throws {OptionError}
 */
export function readOptions(script: { config?: Table; scenarios?: unknown }, path: string): Options {
  const config = script.config ?? {};
  const { profile, prefix, qos, ...given } = ((config.plugins as Table | undefined)?.arrival ?? {}) as Table;
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    throw new OptionError(`config.plugins.arrival.${unknown} is not known; allowed: ${KEYS.join(', ')}`);
  }
  if (typeof profile !== 'string') {
    throw new OptionError(`config.plugins.arrival.profile is ${profile ?? 'missing'}; allowed: a file`);
  }
  const planned = readFile(resolve(dirname(path), profile));
  const flows = list(planned.flows, `${profile}, flows`);
  const profiled = list(planned.phases, `${profile}, phases`);
  const closed = profiled.some(({ vus }) => vus !== undefined);
  checkScenarios(
    script.scenarios,
    closed,
    flows.map(({ name }) => String(name)),
  );
  const unmeasured = profiled.filter(({ measured }) => measured === false).map(({ name }) => name);
  const phases = closed
    ? begun(profiled, profile, config.phases, script.scenarios)
    : list(config.phases, 'config.phases').map((phase, i) => phaseOf(phase, i, unmeasured));
  const intervals = phases.map(intervalOf).filter((interval) => interval > 0);
  return {
    closed,
    profile: { name: profile, text: JSON.stringify({ ...planned, phases }) },
    length: phases.reduce(
      (sum, { duration, pause, drain }) => sum + seconds(duration ?? pause) + seconds(drain),
      0,
    ),
    spread: Math.max(0, ...intervals) - (intervals[0] ?? 0),
    largest: Math.max(
      ...flows.map(({ messages = 1, payloadBytes = 64 }) => Number(messages) * (Number(payloadBytes) + 200)),
    ),
    timeout: (config.http as Table | undefined)?.timeout ?? 10,
    prefix,
    qos,
    given,
  };
}

/**
 * The options of `k6 x arrival record`.
 * @param script name of Artillery's script
 * @param version of Artillery
 */
export async function recordOptions(options: Options, script: string, version: string): Promise<object> {
  const { env } = process;
  const { mqtt, ...pipeline } = await findPipeline(env);
  return {
    ...options.given,
    ...pipeline,
    name: script.replace(/(\.artillery)?\.\w+$/, '').replaceAll(/[^\w.]/g, '_'),
    tool: { name: 'artillery', version },
    profile: options.profile,
    mqtt: { ...mqtt, prefix: options.prefix, qos: options.qos },
    timeout: options.timeout,
    traces: tracesOf(env.TRACES),
    clock: env.CLOCK_LIMIT ? { limit: env.CLOCK_LIMIT } : {},
    dir: env.RUN_DIR ?? '',
    runs: join(ROOT, 'reports/runs'),
    command: env.ARRIVAL_COMMAND ?? `artillery run ${script}`,
  };
}

/** @throws {OptionError} unless it is a number, whose range the recorder checks */
function tracesOf(text = ''): number {
  if (!/^\d*$/.test(text)) throw new OptionError(`TRACES is ${text}; allowed: 0 to 10000`);
  return Number(text);
}

/** @throws {OptionError} */
export function readFile(file: string): Table {
  try {
    return (parse(readFileSync(file, 'utf8')) ?? {}) as Table;
  } catch (error) {
    throw new OptionError(`${file} cannot be read: ${(error as Error).message.split('\n')[0]}`);
  }
}

/**
 * In the open model a virtual user sends one request, so a scenario has one post. In the closed model it may send many; a named
 * post has the flow of that name.
 */
function checkScenarios(scenarios: unknown, closed: boolean, flows: string[]): void {
  const allowed = ['post', 'think', 'log', ...(closed ? ['loop', 'whileTrue', 'count'] : [])];
  const names = new Set<unknown>();
  for (const [i, scenario] of list(scenarios, 'scenarios').entries()) {
    const where = `scenario ${i + 1}`;
    const steps = stepsOf(list(scenario.flow, `${where}, flow`));
    const posts = steps.flatMap(({ post }) => (post === undefined ? [] : [post as Table | null]));
    const other = steps.flatMap((step) => Object.keys(step)).find((step) => !allowed.includes(step));
    if (other !== undefined || (closed ? posts.length === 0 : posts.length !== 1)) {
      const has = other === undefined ? `${posts.length} posts` : other;
      throw new OptionError(
        `${where} has ${has}; allowed: ${closed ? 'post, think, log and loop' : 'one post, and think and log around it'}`,
      );
    }
    if (scenario.engine !== undefined && scenario.engine !== 'http') {
      throw new OptionError(`${where} has the engine ${scenario.engine}; allowed: http`);
    }
    for (const post of posts) names.add(closed ? post?.name : undefined);
    const unknown = [...names].find((name) => name !== undefined && !flows.includes(name as string));
    if (unknown !== undefined) {
      throw new OptionError(
        `${where}: the post is named ${unknown}; allowed: a flow of the profile, ${flows.join(', ')}`,
      );
    }
  }
  if (names.size > 1 && names.has(undefined)) {
    throw new OptionError(
      'some posts are named and some are not; allowed: all, or none, which take the flows in turn',
    );
  }
}

/** The steps of a flow, including those in its loops. */
export function stepsOf(flow: Table[]): Table[] {
  return flow.flatMap((step) =>
    Array.isArray(step.loop) ? [step, ...stepsOf(step.loop as Table[])] : [step],
  );
}

/**
 * Phases of the closed model. When virtual users end after a scenario, config.phases defines when they begin, and so the length of
 * the profile's phases of the same names; the rest is not measured.
 */
function begun(profiled: Table[], profile: string, phases: unknown, scenarios: unknown): Table[] {
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
function phaseOf(given: Table, i: number, unmeasured: unknown[]): Table {
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

/** The longest interval between two virtual users of a phase, ms, a second at most; 0: there are none. */
function intervalOf({ duration, arrivalRate, arrivalCount, rampTo }: Table): number {
  const rate = Number(arrivalRate ?? Number(arrivalCount ?? 0) / seconds(duration));
  if (!(rate > 0 || Number(rampTo) > 0)) return 0;
  return Math.min(1000, 1000 / Math.max(rate, Math.min(1, Number(rampTo ?? 0))));
}

/** Seconds from a number or a text like "2m"; NaN for a value that the recorder refuses. */
function seconds(value: unknown = 0): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|[smh])?$/.exec(String(value)) ?? [];
  return Number(amount) * (UNITS[unit] as number);
}

function list(value: unknown, where: string): Table[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new OptionError(`${where} is missing; allowed: a list`);
  return value as Table[];
}
