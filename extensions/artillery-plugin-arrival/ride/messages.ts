/** Which requests of a script carry a message, and how its id gets into them. Pure: it knows no run. */
import { OptionError } from '../pipeline.ts';
import { isMap, type Table } from '../table.ts';

/** A rule of `config.plugins.arrival.messages`. */
export type Rule =
  /** `'POST /orders/*'`; in the engines beside HTTP `'send'` and `'emit order'`. */
  | { method: string; path: string | undefined }
  /** The name of a request. */
  | { name: string }
  /** A function of the processor: (params, context) → whether it is one. */
  | { function: string };

const ALLOWED =
  "'POST /orders', 'send' (ws), 'emit order' (socketio), { name: … }, { function: … }, or a list of these";

/** @throws {OptionError} */
export function rulesOf(messages: unknown): Rule[] {
  const given = [messages ?? []].flat();
  if (given.length === 0)
    throw new OptionError(`config.plugins.arrival.messages is missing; allowed: ${ALLOWED}`);
  return given.map((rule): Rule => {
    if (typeof rule === 'string') {
      const [, method, path] = /^\s*([a-z]+)(?:\s+(\S+))?\s*$/i.exec(rule) ?? [];
      const verb = method?.toLowerCase();
      if (verb && (path?.startsWith('/') || verb === 'emit' || (verb === 'send' && path === undefined)))
        return { method: verb, path };
    } else if (isMap(rule) && Object.keys(rule).length === 1) {
      if (typeof rule.name === 'string') return { name: rule.name };
      if (typeof rule.function === 'string') return { function: rule.function };
    }
    throw new OptionError(`config.plugins.arrival.messages has ${JSON.stringify(rule)}; allowed: ${ALLOWED}`);
  });
}

/** The methods of Artillery's HTTP engine. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];

/** A step that is a request or, in the engines beside HTTP, sends. undefined: it is neither. */
export function requestIn(step: unknown): { method: string; of: unknown } | undefined {
  if (!isMap(step)) return undefined;
  const method = ['send', 'emit', ...METHODS].find((key) => step[key] !== undefined);
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

/** The url of a request, or the channel of an emit. */
function placeOf(method: string, of: unknown): string | undefined {
  if (method === 'emit') {
    const channel = isMap(of) ? of.channel : Array.isArray(of) ? of[0] : undefined;
    return channel === undefined ? undefined : String(channel);
  }
  const url = isMap(of) ? (of.url ?? of.uri) : undefined;
  return url === undefined ? undefined : String(url);
}

/** Whether a path has a pattern: * stands for one part, ** for the rest. The query is no part of the path. */
export function reaches(pattern: string, url: string): boolean {
  const path = url.replace(/^\w+:\/\/[^/]*/, '').replace(/[?#].*$/, '');
  const parts = pattern.split(/(\*\*|\*)/).map((part) => {
    if (part === '**') return '.*';
    return part === '*' ? '[^/]+' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}/?$`).test(path);
}

/** A value with another one at a dotted path of its maps; the value itself stays as it is. */
export function withAt(value: Table, path: string, inner: unknown): Table {
  const [key = '', ...rest] = path.split('.');
  const within = isMap(value[key]) ? value[key] : {};
  return { ...value, [key]: rest.length === 0 ? inner : withAt(within, rest.join('.'), inner) };
}

/** Whether a script writes the id of a message somewhere itself. */
export const writesId = (script: unknown): boolean => JSON.stringify(script).includes('$arrival.id');

/** The parts of a request into which an id can be put. */
export interface Params {
  json?: unknown;
  body?: unknown;
  form?: unknown;
  formData?: unknown;
  [key: string]: unknown;
}

/**
 * Puts an id at a path of a request's JSON, form or form data.
 * @param render Artillery's templates
 * @returns why it can't be put there; undefined: it is there
 */
export function putId(
  params: Params,
  path: string,
  id: string | number,
  render: (text: unknown) => unknown,
): string | undefined {
  for (const part of ['form', 'formData'] as const) {
    const of = params[part];
    if (!isMap(of)) continue;
    params[part] = { ...of, [path]: id };
    return undefined;
  }
  const json = typeof params.json === 'string' ? render(params.json) : params.json;
  if (isMap(json)) {
    params.json = withAt(json, path, id);
    return undefined;
  }
  if (json === undefined && typeof params.body === 'string') {
    try {
      const body: unknown = JSON.parse(String(render(params.body)));
      if (isMap(body)) {
        params.body = JSON.stringify(withAt(body, path, id));
        return undefined;
      }
    } catch {} // the same reason
  }
  return `a request has no map for its id at ${path}: neither json nor a body of JSON nor a form`;
}

/** A send or emit with a template for the id at a path: these engines call no hook. @throws {OptionError} */
export function withIdTemplate(step: Table, method: 'send' | 'emit', path: string): Table {
  const place = (value: unknown): unknown => {
    if (isMap(value)) return withAt(value, path, '{{ $arrival.id }}');
    if (typeof value === 'string') {
      try {
        const parsed: unknown = JSON.parse(value);
        if (isMap(parsed)) return JSON.stringify(withAt(parsed, path, '{{ $arrival.id }}'));
      } catch {} // the same reason
    }
    throw new OptionError(
      `config.plugins.arrival.id is ${path}, and a ${method} has no map for it; allowed: {{ $arrival.id }} in what it sends`,
    );
  };
  const of = step[method];
  if (method === 'send') {
    const whole = isMap(of) && (of.capture !== undefined || of.match !== undefined);
    return { ...step, send: whole ? { ...of, payload: place(of.payload) } : place(of) };
  }
  if (Array.isArray(of)) return { ...step, emit: [of[0], place(of[1]), ...of.slice(2)] };
  return { ...step, emit: { ...(of as Table), data: place((of as Table).data) } };
}
