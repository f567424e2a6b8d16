import { timingSafeEqual } from 'node:crypto';
import { unwatchFile, watchFile } from 'node:fs';
import type { Logger } from '../common/log.ts';
import { ConfigError, readFileOf, TOKEN } from '../shared/config.ts';

const LONGEST = 256;
const SCHEME = 'Bearer ';
const WELL_FORMED = new RegExp(TOKEN.pattern);
/** ms between looks at the file's status: a replaced or mounted file has no events. */
const LOOK_MS = 1000;

/** The bearer tokens that may post, all with the same rights. */
export class Tokens {
  readonly #fixed: readonly string[];
  readonly #file: string | undefined;
  /** Padded with zeros to one length, so that the time of a comparison reveals nothing. */
  #known: Buffer[] = [];
  readonly #presented = Buffer.alloc(LONGEST);

  /**
   * @param token a token that is always valid
   * @param file has one token a line, beside blank lines and comments (#)
   * @throws {ConfigError} without any token, or with a malformed one
   */
  constructor(token: string | undefined, file: string | undefined) {
    this.#fixed = token === undefined ? [] : [token];
    this.#file = file;
    if (token === undefined && file === undefined) {
      throw new ConfigError(
        `INGEST_TOKEN is not set, nor is INGEST_TOKENS_FILE; allowed: ${TOKEN.description}, or a file of such`,
      );
    }
    this.load();
  }

  /** The number of tokens. */
  get count(): number {
    return this.#known.length;
  }

  /** Reads the file again. For a malformed file it throws a {@link ConfigError} and keeps its tokens. */
  load(): void {
    const tokens = this.#file === undefined ? this.#fixed : [...this.#fixed, ...readTokens(this.#file)];
    this.#known = [...new Set(tokens)].map(padded);
  }

  /** Loads the file again whenever it changes. Returns a function that ends this. */
  watch(log: Pick<Logger, 'info' | 'error'>): () => void {
    const file = this.#file;
    if (file === undefined) return () => {};
    const look = () => this.reload(log);
    watchFile(file, { interval: LOOK_MS, persistent: false }, look);
    return () => unwatchFile(file, look);
  }

  /** {@link load} with a line in the log. */
  reload(log: Pick<Logger, 'info' | 'error'>): void {
    try {
      this.load();
      log.info(`tokens read again, ${this.count} now`);
    } catch (error) {
      log.error(`${(error as Error).message}; the previous tokens stay in use`);
    }
  }

  /** Whether an `Authorization` header has one of the tokens. It compares all of them, each in constant time. */
  accept(authorization: string | undefined): boolean {
    const length = authorization === undefined ? 0 : authorization.length - SCHEME.length;
    if (authorization === undefined || length <= 0 || length > LONGEST) return false;
    if (!authorization.startsWith(SCHEME) && !/^bearer /i.test(authorization)) return false;
    const presented = this.#presented;
    presented.fill(0);
    presented.write(authorization.slice(SCHEME.length), 'latin1');
    let found = false;
    for (const token of this.#known) found = timingSafeEqual(token, presented) || found;
    return found;
  }
}

function padded(token: string): Buffer {
  const buffer = Buffer.alloc(LONGEST);
  buffer.write(token, 'latin1');
  return buffer;
}

function readTokens(file: string): string[] {
  const allowed = `one token a line, ${TOKEN.description}`;
  const wrong = (what: string) =>
    new ConfigError(`INGEST_TOKENS_FILE is ${JSON.stringify(file)}, ${what}; allowed: ${allowed}`);
  const text = readFileOf('INGEST_TOKENS_FILE', file, allowed).toString();
  const tokens: string[] = [];
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (!WELL_FORMED.test(line)) throw wrong(`whose line ${i + 1} is not a token`);
    tokens.push(line);
  }
  if (tokens.length === 0) throw wrong('which holds no token');
  return tokens;
}
