/** What `config.plugins.arrival` says, checked before anything starts. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import type { Flow, Phase } from './schedule.ts';

/** The options are wrong. The message is one line: what, where, what is allowed. */
export class OptionError extends Error {}

export interface Options {
  profile: string;
  /** Its phases have `vus`, and are those of the run; else config.phases are. */
  closed: boolean;
  phases: Phase[];
  flows: Flow[];
  /** Where a message has its id. */
  id: string;
  /** What stands before a message's target in its topic. */
  prefix: string;
  qos: 0 | 1;
  /** s; after the last answer, how long messages may take to arrive. */
  drain: number;
  /** s without a delivery after which nothing more is waited for. */
  idle: number;
  canary: boolean;
}

type Table = Record<string, unknown>;

const KEYS = ['profile', 'id', 'prefix', 'qos', 'drain', 'idle', 'canary'];
const PHASE_KEYS = ['name', 'duration', 'arrivalRate', 'arrivalCount', 'rampTo', 'pause', 'maxVusers'];
const CLOSED_KEYS = ['name', 'duration', 'vus', 'drain', 'pause', 'measured'];
const ID = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;
const MOST_SUBSCRIBERS = 32;
const MOST_VUS = 10_000;
/** Requests of a run: what the ledger holds in memory. */
const MOST_REQUESTS = 10_000_000;
const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600 };

/**
 * @param script what Artillery has read of its file
 * @param path of that file; a profile's path is seen from it
 */
export function readOptions(script: { config?: Table; scenarios?: unknown }, path: string): Options {
  const config = script.config ?? {};
  const given = ((config.plugins as Table | undefined)?.arrival ?? {}) as Table;
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) fail(unknown, 'is not known', KEYS.join(', '));
  const profile = text(given, 'profile', undefined);
  const file = resolve(dirname(path), profile);
  const planned = readProfile(file);
  const id = text(given, 'id', 'id');
  if (!ID.test(id)) fail('id', `is "${id}"`, 'names with dots between them, like meta.id');
  if (/^(target|source|payload)([.]|$)/.test(id))
    fail('id', `is "${id}"`, 'not in target, source or payload');
  const flows = list(planned.flows, `${profile}, flows`).map((flow, i) =>
    flowOf(flow, `${profile}, flow ${i + 1}`),
  );
  if (flows.every(({ weight }) => weight === 0))
    throw new OptionError(`${profile}: all flows have the weight 0`);
  const profiled = list(planned.phases, `${profile}, phases`);
  const closed = profiled.some(({ vus }) => vus !== undefined);
  const unmeasured = profiled.filter(({ measured }) => measured === false).map(({ name }) => name);
  const phases = closed
    ? profiled.map((phase, i) => closedPhaseOf(phase, i, profile))
    : list(config.phases, 'config.phases').map((phase, i) => phaseOf(phase, i, unmeasured));
  const requests = phases.reduce(
    (sum, { duration, rate, rampTo }) => sum + ((rate + rampTo) / 2) * duration,
    0,
  );
  if (!closed && (requests < 1 || requests > MOST_REQUESTS)) {
    throw new OptionError(
      `config.phases have ${Math.round(requests)} requests; allowed: 1 to ${MOST_REQUESTS}`,
    );
  }
  checkScenarios(
    script.scenarios,
    closed,
    flows.map(({ name }) => name),
  );
  return {
    profile,
    closed,
    phases,
    flows,
    id,
    prefix: text(given, 'prefix', 'messages/'),
    qos: qosOf(given),
    drain: number(given, 'drain', 30, 1, 3600),
    idle: number(given, 'idle', 5, 1, 3600),
    canary: flag(given, 'canary', true),
  };
}

/** @throws {OptionError} */
export function readProfile(file: string): Table {
  try {
    return (parse(readFileSync(file, 'utf8')) ?? {}) as Table;
  } catch (error) {
    throw new OptionError(`profile ${file} cannot be read: ${(error as Error).message.split('\n')[0]}`);
  }
}

/**
 * In the open model a virtual user sends the request that is due when it starts, so a scenario has one. In the closed one it sends
 * what it likes; a post that is named has the flow of that name.
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

function stepsOf(flow: Table[]): Table[] {
  return flow.flatMap((step) =>
    Array.isArray(step.loop) ? [step, ...stepsOf(step.loop as Table[])] : [step],
  );
}

function closedPhaseOf(given: Table, i: number, profile: string): Phase {
  const name = String(given.name ?? `phase ${i + 1}`);
  const where = `${profile}, phase ${name}`;
  const unknown = Object.keys(given).find((key) => !CLOSED_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new OptionError(`${where}: ${unknown} is not known beside vus; allowed: ${CLOSED_KEYS.join(', ')}`);
  }
  const of = { name, rate: 0, rampTo: 0, measured: given.measured !== false };
  if (given.pause !== undefined) return { ...of, duration: seconds(given.pause, `${where}, pause`) };
  const { vus } = given;
  if (!Number.isInteger(vus) || (vus as number) < 1 || (vus as number) > MOST_VUS) {
    throw new OptionError(`${where}: vus is ${vus}; allowed: whole numbers from 1 to ${MOST_VUS}`);
  }
  return {
    ...of,
    duration: seconds(given.duration, `${where}, duration`),
    vus: vus as number,
    ...(given.drain !== undefined && { drain: seconds(given.drain, `${where}, drain`) }),
  };
}

function phaseOf(given: Table, i: number, unmeasured: unknown[]): Phase {
  const name = String(given.name ?? `phase ${i + 1}`);
  const where = `config.phases, ${name}`;
  const unknown = Object.keys(given).find(
    (key) => !PHASE_KEYS.includes(key) && !['mode', 'index', 'id'].includes(key),
  );
  if (unknown !== undefined && !['worker', 'totalWorkers', 'startTime', 'endTime'].includes(unknown)) {
    throw new OptionError(`${where}: ${unknown} is not known; allowed: ${PHASE_KEYS.join(', ')}`);
  }
  if (given.mode === 'poisson') throw new OptionError(`${where}: mode is poisson; allowed: uniform`);
  if (given.maxVusers !== undefined) {
    throw new OptionError(`${where}: maxVusers is set; allowed: none, since Artillery drops what exceeds it`);
  }
  const measured = !unmeasured.includes(name);
  if (given.pause !== undefined) {
    return { name, duration: seconds(given.pause, `${where}, pause`), rate: 0, rampTo: 0, measured };
  }
  const duration = seconds(given.duration, `${where}, duration`);
  const rate =
    given.arrivalCount === undefined
      ? rateOf(given.arrivalRate ?? 0, `${where}, arrivalRate`)
      : rateOf(given.arrivalCount, `${where}, arrivalCount`) / duration;
  const rampTo = given.rampTo === undefined ? rate : rateOf(given.rampTo, `${where}, rampTo`);
  return { name, duration, rate, rampTo, measured };
}

function flowOf(given: Table, where: string): Flow {
  const count = (key: string, fallback: number, least: number, most: number) => {
    const value = given[key] ?? fallback;
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
      throw new OptionError(`${where}: ${key} is ${value}; allowed: whole numbers from ${least} to ${most}`);
    }
    return value as number;
  };
  return {
    name: String(given.name ?? where),
    weight: count('weight', 1, 0, 10_000),
    target: String(given.target ?? 'user'),
    targets: count('targets', 100, 1, 100_000),
    messages: count('messages', 1, 1, 1000),
    deliveries: count('deliveries', 1, 1, MOST_SUBSCRIBERS),
    payloadBytes: count('payloadBytes', 64, 0, 1 << 20),
  };
}

function rateOf(value: unknown, where: string): number {
  const rate = Number(value);
  if (!(rate >= 0 && rate <= 100_000)) throw new OptionError(`${where} is ${value}; allowed: 0 to 100000`);
  return rate;
}

/** Artillery's durations: a number of seconds, or a text like "2m". */
function seconds(value: unknown, where: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)\s*([smh])?$/.exec(String(value)) ?? [];
  const length = Number(amount) * (UNITS[unit] as number);
  if (!(length > 0 && length <= 86_400)) {
    throw new OptionError(`${where} is ${value}; allowed: seconds up to 86400, or a text like "2m"`);
  }
  return length;
}

function list(value: unknown, where: string): Table[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new OptionError(`${where} is missing; allowed: a list`);
  return value as Table[];
}

function text(given: Table, key: string, fallback: string | undefined): string {
  const value = given[key] ?? fallback;
  if (typeof value !== 'string') fail(key, value === undefined ? 'is missing' : `is ${value}`, 'a text');
  return value as string;
}

function number(given: Table, key: string, fallback: number, least: number, most: number): number {
  const value = given[key] ?? fallback;
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    fail(key, `is ${value}`, `${least} to ${most}`);
  }
  return value as number;
}

function qosOf(given: Table): 0 | 1 {
  const value = given.qos ?? 1;
  if (value !== 0 && value !== 1) fail('qos', `is ${value}`, '0 or 1');
  return value as 0 | 1;
}

function flag(given: Table, key: string, fallback: boolean): boolean {
  const value = given[key] ?? fallback;
  if (typeof value !== 'boolean') fail(key, `is ${value}`, 'true or false');
  return value as boolean;
}

function fail(key: string, what: string, allowed: string): never {
  throw new OptionError(`config.plugins.arrival.${key} ${what}; allowed: ${allowed}`);
}
