/**
 * Reads a script of Artillery that follows a profile of the pack, so that k6 and Artillery send the same schedule, and makes the
 * recorder's options. The recorder checks their values.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { like } from '../../pipeline/shared/flags.ts';
import { lengthOf, phaseOf, spreadOf, timeoutOf } from './phases.ts';
import { findPipeline, OptionError, PLACEHOLDER, runOf } from './pipeline.ts';
import type { ArrivalOptions } from './script.ts';
import { isMap, list, type Table } from './table.ts';

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

/** Returns whether a script follows a profile of the pack; otherwise the plugin rides along with it. */
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

/** A script as far as it is read here. */
interface Given {
  config?: Table;
  scenarios?: unknown;
}

/** These keys are refused in a post of a profile's script, as the plugin makes its message. */
const OURS = ['body', 'form', 'formData', 'qs', 'auth', 'uri'];

/**
 * Refuses a script whose virtual users can't send the profile's requests one by one.
 * @returns the path of all posts; undefined: /messages, which is also /messages/batch
 */
function pathOf(scenarios: unknown, closed: boolean, flows: string[]): string | undefined {
  const refuse = (what: string): never => {
    const shape = closed ? 'posts of one path, in loops with think' : 'one post of one path, and think';
    throw new OptionError(
      `${what}, and a scenario that follows a profile has ${shape}; allowed: that, or messages and id in place of profile, with which any script runs`,
    );
  };
  const allowed = ['post', 'think', 'log', ...(closed ? ['loop', 'whileTrue', 'count'] : [])];
  const paths = new Set<string>();
  for (const [i, { flow }] of list(scenarios, 'scenarios').entries()) {
    const steps = stepsOf(list(flow, `scenario ${i + 1}, flow`));
    const other = steps.flatMap((step) => Object.keys(step)).find((key) => !allowed.includes(key));
    if (other !== undefined) refuse(`scenario ${i + 1} has ${other}`);
    const posts = steps.flatMap(({ post }) => (isMap(post) ? [post] : []));
    if (closed ? posts.length === 0 : posts.length !== 1)
      refuse(`scenario ${i + 1} has ${posts.length} posts`);
    for (const post of posts) {
      const key = OURS.find((one) => post[one] !== undefined);
      if (key !== undefined) refuse(`scenario ${i + 1} has a post with ${key}`);
      if (closed && post.name !== undefined && !flows.includes(String(post.name)))
        refuse(`scenario ${i + 1} has a post named ${post.name}, which is no flow of the profile`);
      paths.add(String(post.url));
    }
  }
  const [path = '', ...others] = paths;
  if (others.length > 0 || !path.startsWith('/') || path.includes('{{'))
    refuse(`the posts have the urls ${[...paths].join(', ')}`);
  return path === '/messages' ? undefined : path;
}

/** The steps of a flow, including those in its loops. */
export function stepsOf(flow: Table[]): Table[] {
  return flow.flatMap((step) =>
    Array.isArray(step.loop) ? [step, ...stepsOf(step.loop as Table[])] : [step],
  );
}

/** @throws {OptionError} for a key that is not known, with the nearest one */
function checkKeys(of: Table, where: string, allowed: readonly string[]): void {
  const unknown = Object.keys(of).find((key) => !allowed.includes(key));
  if (unknown === undefined) return;
  throw new OptionError(
    `${where} has ${unknown}, which is not known${like(unknown, allowed)}; allowed: ${allowed.join(', ')}`,
  );
}

/**
 * @param script as Artillery has read it
 * @param path the path of its file; a profile's path is relative to it
 * @throws {OptionError}
 */
export function readOptions(script: Given, path: string, env: NodeJS.ProcessEnv = process.env): Options {
  const config = script.config ?? {};
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
  const http = (config.http ?? {}) as Table;
  const defaults = ((http.defaults ?? config.defaults ?? {}) as Table).headers;
  const unmeasured = profiled.filter(({ measured }) => measured === false).map(({ name }) => name);
  const phases = closed
    ? profiled
    : list(config.phases, 'config.phases').map((phase, i) => phaseOf(phase, i, unmeasured));
  return {
    closed,
    profile: { name: profile, text: JSON.stringify({ ...planned, phases }) },
    length: lengthOf(phases),
    spread: spreadOf(phases),
    largest: Math.max(
      ...flows.map(({ messages = 1, payloadBytes = 64 }) => Number(messages) * (Number(payloadBytes) + 200)),
    ),
    timeout: timeoutOf(config),
    mqtt: { prefix, qos, filter, version },
    headers: (headers ?? {}) as Record<string, string>,
    defaults: (defaults ?? {}) as Record<string, string>,
    tls: isMap(config.tls) ? config.tls : {},
    path: pathOf(
      script.scenarios,
      closed,
      flows.map(({ name }) => String(name)),
    ),
    given: filter === undefined ? given : { ...given, canary: false }, // the filter does not match its topic
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
    ...runOf(script, version, env),
    profile: options.profile,
    ingest: {
      ...ingest,
      headers: options.headers,
      ...(options.path !== undefined && { path: options.path, batchPath: options.path }),
    },
    mqtt: { ...mqtt, ...options.mqtt },
    timeout: options.timeout,
    traces: tracesOf(env.TRACES),
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
