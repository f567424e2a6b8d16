/** Reads and checks Artillery's script before anything starts, and makes the recorder's options. The recorder checks their values. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { headersIn, httpOf } from './http.ts';
import { begun, lengthOf, phaseOf, spreadOf } from './phases.ts';
import { findPipeline, OptionError } from './pipeline.ts';
import { ROOT } from './place.ts';
import type { ArrivalOptions } from './script.ts';
import { checkOnly, checkScenarios, pathIn, stepsOf } from './steps.ts';
import { checkKeys, isMap, list, type Table } from './table.ts';

export interface Options {
  /** The profile's phases have `vus` and define the run; else config.phases do. */
  closed: boolean;
  /** Phases and flows, as in a profile of k6. */
  profile: { name: string; text: string };
  /** Seconds of all phases, in the closed model with their longest drains. */
  length: number;
  /** The most by which an interval between virtual users may exceed the first one, ms. */
  spread: number;
  /** The size of the largest request, about, bytes. */
  largest: number;
  /** The time-out of a request, s. */
  timeout: number;
  /** What the plugin itself reads of config.plugins.arrival; the other options are the recorder's. */
  mqtt: { prefix: unknown; qos: unknown; filter: unknown; version: unknown };
  /** Header fields of each request and of the canary. */
  headers: Record<string, string>;
  /** Artillery's own default headers, which each request of the load gets. */
  defaults: Record<string, string>;
  /** config.tls, also by -k, which applies to Artillery's own requests. */
  tls: Table;
  /** The url of the posts; undefined: the pipeline's own paths. */
  path: string | undefined;
  given: Table;
}

/** Whether a script follows a profile of the pack; else the plugin rides along with it. */
export function followsProfile(config: Table): boolean {
  const { arrival } = (config.plugins ?? {}) as Table;
  return isMap(arrival) && arrival.profile !== undefined;
}

const KEYS = Object.keys({
  profile: 0,
  prefix: 0,
  qos: 0,
  filter: 0,
  version: 0,
  headers: 0,
  body: 0,
  id: 0,
  drain: 0,
  idle: 0,
  canary: 0,
  limits: 0,
} satisfies Record<keyof ArrivalOptions, 0>);
/** The target of a script whose requests go to INGEST_URL. */
const PLACEHOLDER = 'http://arrival.invalid';

/** A script as far as it is read here. */
interface Given {
  config?: Table;
  scenarios?: unknown;
  before?: unknown;
  after?: unknown;
}

/** Keys of config that Artillery has. */
const CONFIG_KEYS = [
  ...['target', 'phases', 'mode', 'http', 'defaults', 'timeout', 'tls', 'variables', 'payload', 'processor'],
  ...['plugins', 'environments', 'ensure', 'apdex', 'statsInterval', 'engine', 'engines', 'ws', 'socketio'],
  ...['includeFiles', 'bundling'],
];

/** @throws {OptionError} for a key that is neither allowed, nor for an anchor of YAML, nor Artillery's own mark */
function checkWritten(of: object, where: string, allowed: readonly string[]): void {
  const written = Object.entries(of).filter(([key]) => !/^(x-|_)/.test(key));
  checkKeys(Object.fromEntries(written), where, allowed);
}

function checkConfig(config: Table): void {
  checkWritten(config, 'config', CONFIG_KEYS);
  for (const [key, allowed] of [
    ['mode', 'uniform'],
    ['engine', 'http'],
  ] as const) {
    if ((config[key] ?? allowed) !== allowed)
      throw new OptionError(`config.${key} is ${JSON.stringify(config[key])}; allowed: ${allowed}`);
  }
}

/** Refuses a path in requests before or after the load: Artillery would send them to the placeholder. */
function checkAround(script: Given, when: 'before' | 'after'): void {
  const flow = isMap(script[when]) ? script[when].flow : undefined;
  const urls = stepsOf(Array.isArray(flow) ? flow : []).flatMap((step) =>
    Object.values(step).flatMap((request) =>
      isMap(request) && 'url' in request ? [String(request.url)] : [],
    ),
  );
  const path = urls.find((url) => url.startsWith('/'));
  if (path !== undefined)
    throw new OptionError(
      `${when} has the url ${path}; allowed: a whole one, like https://host${path}, as config.target is ${PLACEHOLDER}`,
    );
}

/**
 * @param script as Artillery has read it
 * @param path the path of its file; a profile's path is relative to it
 * @param only the scenario of --scenario-name
 * @throws {OptionError}
 */
export function readOptions(
  script: Given,
  path: string,
  only?: string,
  env: NodeJS.ProcessEnv = process.env,
): Options {
  checkWritten(script, 'the script', ['config', 'scenarios', 'before', 'after']);
  const config = script.config ?? {};
  checkConfig(config);
  const { profile, prefix, qos, filter, version, headers, ...given } = ((config.plugins as Table | undefined)
    ?.arrival ?? {}) as Table;
  checkKeys(given, 'config.plugins.arrival', KEYS);
  if (typeof profile !== 'string') {
    throw new OptionError(`config.plugins.arrival.profile is ${profile ?? 'missing'}; allowed: a file`);
  }
  const planned = readFile(resolve(dirname(path), profile));
  const flows = list(planned.flows, `${profile}, flows`);
  const profiled = list(planned.phases, `${profile}, phases`);
  const closed = profiled.some(({ vus }) => vus !== undefined);
  checkTarget(config.target, env.INGEST_URL);
  for (const payload of [config.payload ?? []].flat() as Payload[]) checkPayload(payload);
  if (config.target === PLACEHOLDER)
    for (const when of ['before', 'after'] as const) checkAround(script, when);
  checkScenarios(script.scenarios, {
    closed,
    flows: flows.map(({ name }) => String(name)),
    id: String(given.id ?? 'id'),
    expects: (config.plugins as Table | undefined)?.expect !== undefined,
  });
  if (only !== undefined) checkOnly(script.scenarios, only);
  const http = httpOf(config, closed, env);
  const unmeasured = profiled.filter(({ measured }) => measured === false).map(({ name }) => name);
  const phases = closed
    ? begun(profiled, profile, config.phases, script.scenarios)
    : list(config.phases, 'config.phases').map((phase, i) => phaseOf(phase, i, unmeasured));
  return {
    closed,
    profile: { name: profile, text: JSON.stringify({ ...planned, phases }) },
    length: lengthOf(phases),
    spread: spreadOf(phases),
    largest: Math.max(
      ...flows.map(({ messages = 1, payloadBytes = 64 }) => Number(messages) * (Number(payloadBytes) + 200)),
    ),
    timeout: http.timeout,
    mqtt: { prefix, qos, filter, version },
    headers: headersIn('config.plugins.arrival.headers', headers),
    defaults: http.headers,
    tls: isMap(config.tls) ? config.tls : {},
    path: pathIn(script.scenarios, given.body !== undefined),
    given: filter === undefined ? given : { ...given, canary: false }, // its topic is none of the filter's
  };
}

/**
 * The options of `k6 x arrival record`.
 * @param script name of Artillery's script
 * @param version the version of Artillery
 */
export async function recordOptions(options: Options, script: string, version: string): Promise<object> {
  const { env } = process;
  const { ingest, mqtt, ...pipeline } = await findPipeline(env);
  checkTLS(options.tls, [ingest.url, mqtt.url, pipeline.redis?.url ?? ''], pipeline.ca);
  return {
    ...options.given,
    ...pipeline,
    name: script.replace(/(\.artillery)?\.\w+$/, '').replaceAll(/[^\w.]/g, '_'),
    tool: { name: 'artillery', version },
    profile: options.profile,
    ingest: {
      ...ingest,
      headers: options.headers,
      ...(options.path !== undefined && { path: options.path, batchPath: options.path }),
    },
    mqtt: { ...mqtt, ...options.mqtt },
    timeout: options.timeout,
    traces: tracesOf(env.TRACES),
    clock: env.CLOCK_LIMIT ? { limit: env.CLOCK_LIMIT } : {},
    dir: env.RUN_DIR ?? '',
    runs: join(ROOT, 'reports/runs'),
    command: env.ARRIVAL_COMMAND ?? `artillery run ${script}`,
  };
}

/**
 * Says that config.tls does not hold for the recorder, which posts the greeting and the canary, and connects to the broker.
 * @throws {OptionError} where it would not connect therefore
 */
export function checkTLS(tls: Table, addresses: string[], ca: string): void {
  const secure = addresses.find((address) => /^(https|mqtts|wss|rediss):/i.test(address));
  if (secure === undefined) return;
  const { rejectUnauthorized, ...others } = tls;
  const only = "which holds for Artillery's requests and not for the recorder's";
  if (rejectUnauthorized === false && ca === '')
    throw new OptionError(
      `config.tls.rejectUnauthorized (-k) is false, ${only}; allowed: TLS_CA with the file of the authority of ${hostOf(secure)}, or without it where the authority is known`,
    );
  const names = Object.keys(others).filter((name) => !/^(x-|_)/.test(name));
  if (names.length > 0)
    console.error(`arrival: config.tls has ${names.join(', ')}, ${only}: TLS_CA names an authority for both`);
}

const hostOf = (address: string) => /^\w+:\/\/(?:[^/@]*@)?([^/?,]*)/.exec(address)?.[1];

/** @throws {OptionError} unless it is a number, whose range the recorder checks */
function tracesOf(text = ''): number {
  if (!/^\d*$/.test(text)) throw new OptionError(`TRACES is ${text}; allowed: 0 to 10000`);
  return Number(text);
}

/** @throws {OptionError} */
export function readFile(file: string): Table {
  try {
    return (parse(readFileSync(file, 'utf8'), { merge: true }) ?? {}) as Table; // << as Artillery and k6 read it
  } catch (error) {
    throw new OptionError(`${file} cannot be read: ${(error as Error).message.split('\n')[0]}`);
  }
}

/** Refuses a target that is not where requests go. The shipped scripts name a host that cannot exist. */
function checkTarget(target: unknown, ingest: string | undefined): void {
  if (typeof target !== 'string' || target.includes('{{')) return;
  const same = (url: string) => url.replace(/\/+$/, '');
  if (same(target) === PLACEHOLDER || (ingest && same(target) === same(ingest))) return;
  const to = ingest ? 'INGEST_URL' : 'the pipeline that is up, or INGEST_URL';
  throw new OptionError(`config.target is ${target}; allowed: ${PLACEHOLDER}, as requests go to ${to}`);
}

/** Rows of a CSV file that Artillery has read for a script. */
interface Payload {
  path?: string;
  fields?: string[];
  /** The rows that Artillery has read from the file; absent before it has. */
  data?: unknown[][];
}

/** Refuses a CSV file of which Artillery would send empty or wrong fields. */
function checkPayload({ path, fields = [], data }: Payload): void {
  const refuse = (what: string, allowed: string): never => {
    throw new OptionError(`config.payload, ${path}: ${what}; allowed: ${allowed}`);
  };
  const wrong = fields.findIndex((field, i) => !field || fields.indexOf(field) < i);
  if (wrong >= 0) refuse(`field ${wrong + 1} is empty or there twice`, 'a name of its own for each');
  if (data === undefined) return;
  if (data.length === 0) refuse('there is no row', 'a row at least, below the header');
  for (const [i, row] of data.entries()) {
    if (row.length < fields.length) {
      refuse(
        `row ${i + 1} has ${row.length} of ${fields.length} fields: column ${row.length + 1}, ${fields[row.length]}, is missing`,
        'all of them (delimiter is a comma by default)',
      );
    }
    const cell = row.findIndex((value) => /[\ufeff\ufffd]/.test(String(value)));
    if (cell >= 0) {
      refuse(
        `row ${i + 1}, field ${cell + 1} is not UTF-8 or has a byte order mark`,
        'UTF-8, and options: { bom: true }',
      );
    }
  }
}
