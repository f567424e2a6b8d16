/** Which requests of a script carry a message, and how its id gets into them. Pure: it knows no run. */
import { OptionError } from '../pipeline.ts';
import { isMap, type Table } from '../table.ts';

/** A rule of `config.plugins.arrival.messages`. */
export type Rule =
  /** `'POST /orders/*'`; `'function order'`, a step; in the engines beside HTTP `'send'` and `'emit order'`. */
  | { method: string; path: string | undefined }
  /** The name of a request. */
  | { name: string }
  /** A function of the processor: (params, context) → whether it is one. */
  | { function: string };

const ALLOWED =
  "'POST /orders', 'function order' (a step), 'send' (ws), 'emit order' (socketio), { name: … }, { function: … }, or a list of these";

/** @throws {OptionError} */
export function rulesOf(messages: unknown): Rule[] {
  const given = [messages ?? []].flat();
  if (given.length === 0)
    throw new OptionError(`config.plugins.arrival.messages is missing; allowed: ${ALLOWED}`);
  return given.map((rule): Rule => {
    if (typeof rule === 'string') {
      const [, method, path] = /^\s*([a-z]+)(?:\s+(\S+))?\s*$/i.exec(rule) ?? [];
      const verb = method?.toLowerCase();
      const named = verb === 'emit' || (verb === 'function' && path !== undefined);
      if (verb && (path?.startsWith('/') || named || (verb === 'send' && path === undefined)))
        return { method: verb, path };
    } else if (isMap(rule) && Object.keys(rule).length === 1) {
      if (typeof rule.name === 'string') return { name: rule.name };
      if (typeof rule.function === 'string') return { function: rule.function };
    }
    throw new OptionError(`config.plugins.arrival.messages has ${JSON.stringify(rule)}; allowed: ${ALLOWED}`);
  });
}

/** The methods of Artillery's HTTP engine. */
export const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];

/** A step that is a request or, in the engines beside HTTP, sends, or a function of the processor. undefined: it is none. */
export function requestIn(step: unknown): { method: string; of: unknown } | undefined {
  if (!isMap(step)) return undefined;
  const method = ['send', 'emit', 'function', ...METHODS].find((key) => step[key] !== undefined);
  return method === undefined ? undefined : { method, of: step[method] };
}

/** Returns whether a rule holds for a request as the script has it; undefined: only the run can say. */
export function holds(rule: Rule, method: string, of: unknown): boolean | undefined {
  if ('function' in rule) return METHODS.includes(method) ? undefined : false;
  if ('name' in rule) {
    const name = isMap(of) ? of.name : undefined;
    return typeof name === 'string' && name.includes('{{') ? undefined : name === rule.name;
  }
  if (rule.method !== method) return false;
  if (method === 'send' || rule.path === undefined) return true;
  const where = placeOf(method, of);
  if (where === undefined) return false;
  return where.includes('{{') ? undefined : reaches(rule.path, where);
}

/** Returns whether a rule holds for a request of the run, with its name and url as they are sent. */
export function holdsFor(
  rule: Exclude<Rule, { function: string }>,
  { name, url }: { name: unknown; url: string },
) {
  return 'name' in rule ? rule.name === name : rule.path === undefined || reaches(rule.path, url);
}

/** The url of a request, the channel of an emit, or the name of a function. */
export function placeOf(method: string, of: unknown): string | undefined {
  if (method === 'function') return String(of);
  if (method === 'emit') {
    const channel = isMap(of) ? of.channel : Array.isArray(of) ? of[0] : undefined;
    return channel === undefined ? undefined : String(channel);
  }
  const url = isMap(of) ? (of.url ?? of.uri) : undefined;
  return url === undefined ? undefined : String(url);
}

/** Returns whether a path has a pattern: * stands for one part, ** for the rest. The query is not part of the path. */
export function reaches(pattern: string, url: string): boolean {
  const path = url.replace(/^\w+:\/\/[^/]*/, '').replace(/[?#].*$/, '');
  const parts = pattern.split(/(\*\*|\*)/).map((part) => {
    if (part === '**') return '.*';
    return part === '*' ? '[^/]+' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}/?$`).test(path);
}

/**
 * A value with another one at a dotted path of its maps, some of which templates make; the value itself stays as it is.
 * undefined: the path goes through something else.
 */
export function withAt(value: Table, path: string, inner: unknown, render: Render): Table | undefined {
  const [key = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...value, [key]: inner };
  const within = (typeof value[key] === 'string' ? render(value[key]) : value[key]) ?? {};
  const whole = isMap(within) && withAt(within, rest.join('.'), inner, render);
  return whole ? { ...value, [key]: whole } : undefined;
}

/** A value with the id at a path of its map, which may also be a text of JSON; undefined: there is no place for it. */
function withId(value: unknown, path: string, id: string | number, render: Render): unknown {
  if (isMap(value)) return withAt(value, path, id, render);
  if (typeof value !== 'string') return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    const whole = isMap(parsed) && withAt(parsed, path, id, render);
    return whole ? JSON.stringify(whole) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a part of a script has the id of a message in it. */
export const hasId = (part: unknown): boolean => JSON.stringify(part)?.includes('$arrival.id') ?? false;

/** The parts of a request into which an id can be put. */
export interface Params {
  json?: unknown;
  body?: unknown;
  form?: unknown;
  formData?: unknown;
  [key: string]: unknown;
}

/** Artillery's templates. */
type Render = (text: unknown) => unknown;

/**
 * Puts an id at a path of a request's JSON, form or form data.
 * @returns why it can't be put there; undefined: it is there
 */
export function putId(params: Params, path: string, id: string | number, render: Render): string | undefined {
  for (const part of ['form', 'formData'] as const) {
    const of = params[part];
    if (!isMap(of)) continue;
    params[part] = { ...of, [path]: id };
    return undefined;
  }
  const json = typeof params.json === 'string' ? render(params.json) : params.json;
  const part = json === undefined ? 'body' : 'json';
  const given =
    part === 'json' ? json : typeof params.body === 'string' ? String(render(params.body)) : undefined;
  const whole = typeof json === 'string' ? undefined : withId(given, path, id, render);
  if (whole === undefined) return `no map for its id at ${path}, in json, form or body`;
  params[part] = whole;
  return undefined;
}

/** The text that a request sends, of its JSON or as it is; undefined: it sends a form, bytes, or none. */
export function contentOf({ json, body, form, formData }: Params): string | undefined {
  if (form !== undefined || formData !== undefined) return undefined;
  const content = json ?? body;
  if (ArrayBuffer.isView(content)) return undefined; // a hook has made it
  return typeof content === 'string' && json === undefined ? content : JSON.stringify(content);
}

/** The variable that holds what a send or emit sends: their engines call no hook. */
const SENT = '{{ $arrival.sent }}';

/** A send or emit that sends `$arrival.sent`, and what that is. */
interface Sending {
  step: Table;
  /** @throws {Error} where a template has made no map, and the id has no place */
  dataOf: (id: string | number, render: Render) => unknown;
}

/**
 * @param path where its id goes; undefined: the script has written it
 * @throws {OptionError} for data that can have no id there
 */
export function sendingOf(step: Table, method: 'send' | 'emit', path: string | undefined): Sending {
  const of = step[method];
  let [data, sent]: unknown[] = [of, SENT];
  if (method === 'send' && isMap(of) && (of.capture !== undefined || of.match !== undefined)) {
    data = of.payload;
    sent = { ...of, payload: SENT };
  } else if (Array.isArray(of)) {
    data = of[1];
    sent = [of[0], SENT, ...of.slice(2)];
  } else if (method === 'emit') {
    data = (of as Table).data;
    sent = { ...(of as Table), data: SENT };
  }
  if (path === undefined)
    return {
      step: data === undefined ? step : { ...step, [method]: sent },
      dataOf: (_, render) => render(data),
    };
  const why = `config.plugins.arrival.id is ${path}, and a ${method} has no map for it`;
  const made = (text: unknown) => (typeof text === 'string' && text.includes('{{') ? {} : text);
  if (withId(made(data), path, '', made) === undefined)
    throw new OptionError(`${why}; allowed: {{ $arrival.id }} in what it sends`);
  return {
    step: { ...step, [method]: sent },
    dataOf: (id, render) => {
      const whole = withId(render(data), path, id, render);
      if (whole === undefined) throw new Error(why);
      return whole;
    },
  };
}
