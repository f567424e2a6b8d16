/** Some members of a large JSON object. The others, mostly seconds of a timeline, are passed over and never parsed. */
import limits from '../contract/limits.json' with { type: 'json' };
import { openFile, piecesOf } from '../files.ts';

const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST, COMMA, COLON, QUOTE, BACKSLASH] = [...'{}[],:"\\'].map((one) =>
  one.charCodeAt(0),
);

/** White space of JSON: a byte order mark is none. */
const BLANK = /^[ \t\r\n]*$/;

/**
 * @param wanted names of members
 * @returns those that the object has; undefined if the directory has no such file, or something else in its place
 * @throws if the file is larger than any run's, is not an object, or has a wanted member twice
 */
export async function readMembers(
  directory: string,
  name: string,
  wanted: readonly string[],
): Promise<Record<string, unknown> | undefined> {
  const file = await openFile(directory, name);
  if (file === null) return undefined;
  const members = new Members(name, new Set(wanted));
  try {
    for await (const piece of piecesOf(file, name, limits.file_bytes)) members.read(piece);
  } finally {
    await file.close();
  }
  return members.end();
}

class Members {
  #file: string;
  #wanted: ReadonlySet<string>;
  #found = new Map<string, unknown>();
  #depth = 0;
  #inText = false;
  #escaped = false;
  #ended = false;
  /** The name of the value that is read; undefined: a name is. */
  #name: string | undefined;
  /** What is read of a name, of a wanted value, or outside of the object. */
  #kept: Buffer[] = [];
  #length = 0;

  constructor(file: string, wanted: ReadonlySet<string>) {
    this.#file = file;
    this.#wanted = wanted;
  }

  read(bytes: Buffer): void {
    let from = 0;
    const upTo = (i: number) => {
      this.#keep(bytes.subarray(from, i));
      from = i + 1;
    };
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i];
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inText = false;
      } else if (byte === QUOTE) this.#inText = true;
      else if (byte === OPEN || byte === OPEN_LIST) {
        if (this.#depth++ > 0) continue;
        upTo(i);
        this.#begin(byte === OPEN);
      } else if (byte === CLOSE || byte === CLOSE_LIST) {
        if (--this.#depth > 0) continue;
        upTo(i);
        this.#finish(byte === CLOSE);
      } else if (this.#depth !== 1) continue;
      else if (byte === COLON && this.#name === undefined) {
        upTo(i);
        this.#name = this.#text();
      } else if (byte === COMMA) {
        upTo(i);
        this.#value();
      }
    }
    upTo(bytes.length);
  }

  /** @throws unless one whole object was read */
  end(): Record<string, unknown> {
    if (this.#depth === 0 && !BLANK.test(this.#take())) throw this.#error('is not an object');
    if (!this.#ended)
      throw this.#error(this.#depth > 0 ? 'is not JSON: it ends too early' : 'is not JSON: it is empty');
    return Object.fromEntries(this.#found);
  }

  #begin(isObject: boolean): void {
    if (!isObject || this.#ended || !BLANK.test(this.#take())) throw this.#error('is not an object');
  }

  #finish(isObject: boolean): void {
    if (!isObject || this.#depth < 0) throw this.#error('is not JSON: a bracket is in the wrong place');
    if (this.#name !== undefined || !BLANK.test(this.#take())) this.#value();
    this.#ended = true;
  }

  #value(): void {
    const name = this.#name;
    if (name === undefined) throw this.#error('is not JSON: a member has no name');
    this.#name = undefined;
    if (!this.#wanted.has(name)) return;
    if (this.#found.has(name)) throw this.#error(`has ${JSON.stringify(name)} twice`);
    this.#found.set(name, this.#parse());
  }

  #text(): string {
    const text = this.#parse();
    if (typeof text !== 'string') throw this.#error('is not JSON: a name must be text');
    return text;
  }

  #parse(): unknown {
    try {
      return JSON.parse(this.#take());
    } catch (error) {
      throw this.#error(`is not JSON: ${(error as Error).message.split('\n')[0]}`);
    }
  }

  #keep(piece: Buffer): void {
    if (this.#name !== undefined && !this.#wanted.has(this.#name)) return;
    this.#length += piece.length;
    if (this.#length > limits.member_bytes)
      throw this.#error(
        `has more than ${limits.member_bytes} bytes ${this.#name === undefined ? 'where a name should be' : `of ${JSON.stringify(this.#name)}`}`,
      );
    if (piece.length > 0) this.#kept.push(piece);
  }

  #take(): string {
    const text = Buffer.concat(this.#kept).toString();
    this.#kept = [];
    this.#length = 0;
    return text;
  }

  #error(text: string): Error {
    return new Error(`${this.#file} ${text}`);
  }
}
