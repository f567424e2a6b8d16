import { type HttpError, malformed, tooLarge } from './http-error.ts';

/** The part of a posted message that the pipeline reads. The message travels unchanged. */
export interface Message {
  target: string;
}

/** The most characters of an id, a target and a source. */
export const LONGEST = 128;
/** The deepest nesting of a payload: a receiver's JSON.stringify overflows the stack at some thousands. */
const DEEPEST = 1000;
/** Levels of letters, digits, `_`, `.` and `-`: an MQTT wildcard or an empty level cannot be a target. */
export const TARGET = /^[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*$/;

/**
 * Checks messages: `id`, `target`, optional `source` and `payload`, and nothing else. By hand, as a compiled schema takes
 * several times as long. Refusals name the field.
 */
export class MessageCheck {
  readonly #idPath: readonly string[];
  readonly #idName: string;
  readonly #batchLimit: number;

  /**
   * @param idKey where the id is: `id`, or a path like `meta.id`.
   * @param batchLimit most messages of a batch.
   */
  constructor(idKey: string, batchLimit: number) {
    this.#idPath = idKey.split('.');
    this.#idName = this.#idPath[0] as string;
    this.#batchLimit = batchLimit;
  }

  /**
   * Throws a {@link HttpError} unless it is a message.
   * @param length of the text that it was read from, if that is known.
   */
  message(value: unknown, length = Number.POSITIVE_INFINITY): Message {
    return this.#check(value, length, undefined);
  }

  /** Throws a {@link HttpError} unless it is an array of messages, not empty and within the limit. `length` as for a message. */
  batch(value: unknown, length = Number.POSITIVE_INFINITY): readonly Message[] {
    if (!Array.isArray(value)) throw malformed('', 'is not an array of messages');
    if (value.length === 0) throw malformed('', 'is an empty array');
    if (value.length > this.#batchLimit) {
      throw tooLarge(`a batch of ${value.length} messages exceeds the limit of ${this.#batchLimit}`);
    }
    for (let i = 0; i < value.length; i++) this.#check(value[i], length, i);
    return value;
  }

  /**
   * Throws a {@link HttpError} for a field that a valid message has twice: parsers differ in which one they take, and both
   * would travel on.
   */
  keys(json: string, at: number | undefined): void {
    const twice = duplicateKey(json, this.#idPath);
    if (twice !== undefined) throw wrong(at, twice, 'is given twice');
  }

  #check(value: unknown, length: number, at: number | undefined): Message {
    if (!isObject(value)) throw wrong(at, '', 'is not an object');
    for (const key in value) {
      if (key !== this.#idName && key !== 'target' && key !== 'source' && key !== 'payload') {
        throw wrong(at, key, 'is not known; a message has id, source, target and payload');
      }
    }
    this.#checkId(value, at);
    const { target, source } = value;
    if (typeof target !== 'string') throw wrong(at, 'target', `is ${kind(target)}; must be a string`);
    if (isLong(target)) throw wrong(at, 'target', `is longer than ${LONGEST} characters`);
    if (!TARGET.test(target)) {
      throw wrong(at, 'target', 'is not made of levels of letters, digits, _, . and - with / between them');
    }
    if (source !== undefined) {
      if (typeof source !== 'string') throw wrong(at, 'source', `is ${kind(source)}; must be a string`);
      if (isLong(source)) throw wrong(at, 'source', `is longer than ${LONGEST} characters`);
    }
    // Each level takes two brackets, so most texts are too short.
    if (length > 2 * DEEPEST && isDeeper(value.payload, DEEPEST)) {
      throw wrong(at, 'payload', `is nested deeper than ${DEEPEST} levels of arrays and objects`);
    }
    return value as unknown as Message;
  }

  #checkId(message: Record<string, unknown>, at: number | undefined): void {
    const path = this.#idPath;
    let id: unknown = message[this.#idName];
    for (let depth = 1; depth < path.length; depth++) {
      const parent = path.slice(0, depth).join('.');
      if (!isObject(id)) throw wrong(at, parent, `is ${kind(id)}; must be an object`);
      for (const key in id) {
        if (key !== path[depth]) throw wrong(at, `${parent}.${key}`, 'is not known');
      }
      id = id[path[depth] as string];
    }
    const name = path.length === 1 ? this.#idName : path.join('.');
    if (typeof id !== 'string') throw wrong(at, name, `is ${kind(id)}; must be a string`);
    if (id.length === 0) throw wrong(at, name, 'is empty');
    if (isLong(id)) throw wrong(at, name, `is longer than ${LONGEST} characters`);
  }
}

/** Whether a text has more than {@link LONGEST} characters (code points: a string's length counts many twice). */
function isLong(text: string): boolean {
  return text.length > LONGEST && (text.length > 2 * LONGEST || [...text].length > LONGEST);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether arrays and objects are nested deeper than so many levels. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (isDeeper(value[i], levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  }
  return false;
}

function kind(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}

/** A key may be as long as the body; the answer quotes only its beginning. */
function wrong(at: number | undefined, field: string, problem: string): HttpError {
  const short = field.length > LONGEST ? `${field.slice(0, LONGEST)}…` : field;
  return malformed(at === undefined ? short : short === '' ? `${at}` : `${at}.${short}`, problem);
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The text of each element of an array that is valid JSON and not empty. JSON.stringify would change numbers that a double does
 * not hold, and costs as much.
 */
export function elementsOf(json: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 0;
  const end = (at: number) => {
    elements.push(json.slice(start, at).trim());
    start = at + 1;
  };
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        while (json.charCodeAt(++at) !== QUOTE) if (json.charCodeAt(at) === BACKSLASH) at++;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth === 1) start = at + 1;
        break;
      case COMMA:
        if (depth === 1) end(at);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (--depth === 0) end(at);
    }
  }
  return elements;
}

/**
 * A key that a valid JSON object has twice: its own, or those along the path of the id. Other objects are nobody's concern here.
 * Keys are compared as they read, whatever escapes they are written with.
 */
export function duplicateKey(json: string, idPath: readonly string[]): string | undefined {
  /** The keys so far at each depth, while they are all on the path of the id. */
  const seen: string[][] = [[]];
  const path: string[] = [];
  let depth = 0;
  let string: [start: number, end: number] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const start = at;
        while (json.charCodeAt(++at) !== QUOTE) if (json.charCodeAt(at) === BACKSLASH) at++;
        string = [start, at + 1];
        break;
      }
      case COLON: {
        if (depth > idPath.length || path.length < depth - 1) break;
        if (!path.slice(0, depth - 1).every((key, i) => key === idPath[i])) break;
        const raw = json.slice(...string);
        const key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
        const known = seen[depth - 1] as string[];
        if (known.includes(key)) return [...path.slice(0, depth - 1), key].join('.');
        known.push(key);
        path[depth - 1] = key;
        break;
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth++;
        seen[depth - 1] ??= [];
        if (depth > 1) seen[depth - 1] = [];
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        path.length = Math.min(path.length, depth - 1);
        depth--;
    }
  }
  return undefined;
}
