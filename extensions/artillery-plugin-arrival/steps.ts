/** Scenarios and posts of Artillery's script: each key is used as it is written, or refused before anything starts. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { like } from '../../pipeline/shared/flags.ts';
import { OptionError } from './pipeline.ts';
import { checkKeys, isMap, list, type Table } from './table.ts';

const SCENARIO = [
  ...['name', 'weight', 'engine', 'flow', 'expect'],
  ...['beforeScenario', 'afterScenario', 'beforeRequest', 'afterResponse', 'onError'],
];
const POST = [
  ...['url', 'name', 'json', 'headers', 'capture', 'match', 'expect'],
  ...['beforeRequest', 'afterResponse', 'gzip', 'followRedirect'],
];
/** The closed model takes these too: there a virtual user may skip a request, and sends as soon as it has its turn. */
const POST_CLOSED = ['cookie', 'ifTrue', 'probability'];
const JSON_OR_BODY = 'json, a map of fields that go into each message, or config.plugins.arrival.body';
const PATH = 'url, a path with its query';
const ONE = 'none, as each virtual user sends one request';
/** Keys that Artillery knows, and what takes their place. */
const INSTEAD: Record<string, string> = {
  body: JSON_OR_BODY,
  form: JSON_OR_BODY,
  formData: JSON_OR_BODY,
  uri: PATH,
  qs: PATH,
  auth: 'headers with Authorization, or INGEST_TOKEN',
  cookie: 'headers with Cookie',
  ifTrue: ONE,
  probability: ONE,
  timeout: 'config.http.timeout',
};
/** Header fields that frame a request, or are about its connection. */
const FRAMING = /^(content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/i;

/** The settings of the rest of a script that decide what its scenarios may hold. */
export interface Setting {
  closed: boolean;
  /** Names of the profile's flows. */
  flows: string[];
  /** The key of the id in a message. */
  id: string;
  /** The plugin `expect` is on. */
  expects: boolean;
}

/**
 * In the open model a virtual user sends one request, so a scenario has one post. In the closed model it may send many; a named
 * post has the flow of that name.
 */
export function checkScenarios(scenarios: unknown, setting: Setting): void {
  const { closed, flows } = setting;
  const allowed = ['post', 'think', 'log', ...(closed ? ['loop', 'whileTrue', 'count'] : [])];
  const names = new Set<unknown>();
  for (const [i, scenario] of list(scenarios, 'scenarios').entries()) {
    const where = `scenario ${i + 1}`;
    checkKeys(scenario, where, SCENARIO);
    checkWeight(scenario.weight, where);
    const steps = stepsOf(list(scenario.flow, `${where}, flow`));
    const posts = steps.flatMap(({ post }) => (post === undefined ? [] : [post as Table | null]));
    const other = steps.flatMap((step) => Object.keys(step)).find((step) => !allowed.includes(step));
    if (other !== undefined || (closed ? posts.length === 0 : posts.length !== 1)) {
      const has = other === undefined ? `${posts.length} posts` : other;
      throw new OptionError(
        `${where} has ${has}; allowed: ${closed ? 'post, think, log and loop' : 'one post, and think and log around it'}`,
      );
    }
    const crowded = steps.map(actionsOf).find((actions) => actions.length > 1);
    if (crowded !== undefined) {
      throw new OptionError(`${where} has ${crowded.join(' and ')} in one step; allowed: a step for each`);
    }
    if (scenario.engine !== undefined && scenario.engine !== 'http') {
      throw new OptionError(`${where} has the engine ${scenario.engine}; allowed: http`);
    }
    for (const post of posts) checkPost(post ?? {}, `${where}: the post`, setting);
    for (const post of posts) names.add(closed ? post?.name : undefined);
    const unknown = [...names].find((name) => name !== undefined && !flows.includes(name as string));
    if (unknown !== undefined) {
      throw new OptionError(
        `${where}: the post is named ${unknown}; allowed: a flow of the profile, ${flows.join(', ')}`,
      );
    }
  }
  if (list(scenarios, 'scenarios').every(({ weight }) => weight !== undefined && Number(weight) === 0))
    throw new OptionError('all scenarios have the weight 0; allowed: at least one that is not');
  if (names.size > 1 && names.has(undefined)) {
    throw new OptionError(
      'some posts are named and some are not; allowed: all, or none, which take the flows in turn',
    );
  }
}

/** Refuses a --scenario-name for which Artillery, to which it is a pattern, finds no scenario, or several. */
export function checkOnly(scenarios: unknown, only: string): void {
  const names = list(scenarios, 'scenarios').map(({ name }) => String(name));
  const found = names.filter((name) => name === only || patternOf(only).test(name));
  if (found.length === 1) return;
  const known = names.filter((name) => name !== 'undefined');
  const what = found.length === 0 ? `no scenario${like(only, known)}` : `several scenarios`;
  const allowed = known.join(', ') || 'none, as none has a name';
  throw new OptionError(`--scenario-name ${only} is ${what}; allowed: ${allowed}`);
}

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new OptionError(`--scenario-name: ${(error as Error).message}; allowed: a name or a pattern`);
  }
}

/** The largest weight: Artillery makes a list of a hundred times as many entries. */
const WEIGHT_MOST = 10_000;

/** Artillery takes a text that is not a number for 0, and cuts off decimals. */
function checkWeight(weight: unknown, where: string): void {
  if (weight === undefined || String(weight).includes('{{')) return;
  const isNumber = typeof weight === 'number' || (typeof weight === 'string' && weight.trim() !== '');
  if (!isNumber || !Number.isInteger(Number(weight)) || Number(weight) < 0 || Number(weight) > WEIGHT_MOST)
    throw new OptionError(
      `${where} has the weight ${JSON.stringify(weight)}; allowed: a whole number, 0 to ${WEIGHT_MOST}`,
    );
}

const actionsOf = (step: Table) => Object.keys(step).filter((key) => !['whileTrue', 'count'].includes(key));

function checkPost(post: Table, where: string, { closed, id, expects }: Setting): void {
  const { url, json, headers } = post;
  const refuse = (what: string, allowed: string): never => {
    throw new OptionError(`${where} has ${what}; allowed: ${allowed}`);
  };
  const allowed = [...POST, ...(closed ? POST_CLOSED : [])];
  const other = Object.keys(post).find((key) => !allowed.includes(key) && key in INSTEAD);
  if (other !== undefined) refuse(other, INSTEAD[other] as string);
  checkKeys(post, where, allowed, [...allowed, ...Object.keys(INSTEAD)]);
  if (typeof url !== 'string' || !url.startsWith('/') || url.includes('{{')) {
    refuse(
      url === undefined ? 'no url' : `the url ${url}`,
      'a path, like /v1/events?source=load, without {{ }}; the address is INGEST_URL',
    );
  }
  if (json !== undefined && !isMap(json)) {
    refuse('json that is not a map', 'a map of fields that go into each message');
  }
  const fixed = writtenOf(id).find((key) => Object.hasOwn((json ?? {}) as Table, key));
  if (fixed !== undefined) refuse(`json with ${fixed}, which the plugin writes`, 'other fields');
  for (const key of ['gzip', 'followRedirect']) {
    if (post[key] !== undefined && typeof post[key] !== 'boolean')
      refuse(`${key} that is ${JSON.stringify(post[key])}`, 'true or false');
  }
  for (const key of ['capture', 'match']) {
    if (post[key] !== undefined && (typeof post[key] !== 'object' || post[key] === null))
      refuse(`${key} that is ${JSON.stringify(post[key])}`, 'a map, or a list of maps');
  }
  if (post.expect !== undefined && !expects) {
    refuse('expect, and config.plugins.expect is missing', 'both, or neither');
  }
  if (headers !== undefined) checkHeaders(headers, `${where}, headers`);
}

/** Keys of a message that the plugin writes, with this key of the id. */
export const writtenOf = (id: string): string[] => [id.split('.')[0] as string, 'target', 'source'];

/** @throws {OptionError} for what no request can have, or what the plugin would replace */
export function checkHeaders(headers: unknown, where: string): void {
  const refuse = (what: string, allowed: string): never => {
    throw new OptionError(`${where}: ${what}; allowed: ${allowed}`);
  };
  if (!isMap(headers)) refuse('no map of texts', '{ X-Api-Key: "…" }');
  const seen = new Map<string, string>();
  for (const [name, value] of Object.entries(headers as Table)) {
    if (typeof value !== 'string') refuse(`${name} is not text`, '{ X-Api-Key: "…" }');
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value as string);
    } catch {
      refuse(
        `no request can have the field ${JSON.stringify(name)} so`,
        'letters, digits and -, and a value in one line',
      );
    }
    if (FRAMING.test(name)) refuse(`${name} is the client's own`, 'other fields');
    const other = seen.get(name.toLowerCase());
    if (other !== undefined) refuse(`${other} and ${name} are one field`, 'each once');
    seen.set(name.toLowerCase(), name);
  }
}

/**
 * The path of all posts; undefined: /messages, which is also /messages/batch. The canary needs one.
 * @param whole the message is a template, to which json adds no fields
 */
export function pathIn(scenarios: unknown, whole: boolean): string | undefined {
  const posts = list(scenarios, 'scenarios').flatMap(({ flow }) =>
    stepsOf(flow as Table[]).flatMap(({ post }) => (post === undefined ? [] : [post as Table])),
  );
  if (whole && posts.some(({ json }) => json !== undefined)) {
    throw new OptionError('a post has json, and config.plugins.arrival.body is set; allowed: one of them');
  }
  const [path, ...others] = new Set(posts.map(({ url }) => String(url)));
  if (others.length > 0) {
    throw new OptionError(`the posts have the urls ${[path, ...others].join(', ')}; allowed: the same one`);
  }
  return path === '/messages' ? undefined : path;
}

/** The steps of a flow, including those in its loops. */
export function stepsOf(flow: Table[]): Table[] {
  return flow.flatMap((step) =>
    Array.isArray(step.loop) ? [step, ...stepsOf(step.loop as Table[])] : [step],
  );
}
