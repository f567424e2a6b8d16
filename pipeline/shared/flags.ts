/** The flags of a command. It refuses an unknown flag or a wrong value in one line, with what is allowed. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { closest, distance } from 'fastest-levenshtein';
import { ConfigError } from './config.ts';

/**
 * Reads flags as node:util's parseArgs does, and `--help` beside them.
 * @throws {ConfigError} with the flag, the nearest one, and all allowed ones
 */
export function readFlags<T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
  allowPositionals = false,
) {
  const all = { ...options, help: { type: 'boolean', short: 'h' } as const };
  try {
    const { tokens, ...read } = parseArgs({ args: [...args], options: all, allowPositionals, tokens: true });
    refuseTwice(tokens, options);
    return read;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const message = (error as Error).message.split('\n')[0] as string;
    const [, unknown] = /^(?:Unknown option|Unexpected argument) '(.*?)'/.exec(message) ?? [];
    const allowed = Object.keys(all).map((name) => `--${name}`);
    const what = unknown === undefined ? message : `${unknown} is not known${like(unknown, allowed)}`;
    throw new ConfigError(`${what}; allowed: ${allowed.join(', ')}`);
  }
}

/** Refuses a second value: the first one would be ignored. */
function refuseTwice(
  tokens: readonly { kind: string; name?: string }[],
  options: ParseArgsOptionsConfig,
): void {
  const seen = new Set<string>();
  for (const { kind, name = '' } of tokens) {
    if (kind !== 'option' || options[name]?.type !== 'string' || options[name].multiple) continue;
    if (seen.has(name)) throw new ConfigError(`--${name} is given twice`);
    seen.add(name);
  }
}

/** `, RATE is` for RTAE: the nearest allowed name, if one is near enough. */
export function like(name: string, allowed: readonly string[]): string {
  const near = closest(name, allowed);
  const letters = name.replace(/^-+/, '').length;
  return near && distance(name, near) <= Math.max(1, Math.min(3, letters / 2)) ? `, ${near} is` : '';
}

/** The words that a flag gives, in the order of `allowed`; by default all of them. @throws {ConfigError} */
export function listOf<T extends string>(flag: string, text: string | undefined, allowed: readonly T[]): T[] {
  const given: readonly string[] = text?.split(',') ?? allowed;
  const wrong = given.find((one) => !allowed.includes(one as T));
  if (wrong === undefined) return allowed.filter((one) => given.includes(one));
  const near = like(
    wrong,
    allowed.filter((one) => !given.includes(one)),
  );
  throw new ConfigError(`--${flag} is "${text}"${near}; allowed: ${allowed.join(', ')}, with commas between`);
}

interface Range {
  least: number;
  most: number;
  /** Allows fractions. */
  broken?: boolean;
  /** A word that is allowed beside numbers. */
  or?: string;
}

/** The number that a flag gives. @throws {ConfigError} */
export function numberOf(flag: string, text: string, { least, most, broken = false, or }: Range): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (text === or || (value >= least && value <= most && (broken || Number.isInteger(value)))) return value;
  const range = `${broken ? '' : 'whole numbers from '}${least} to ${most}`;
  throw new ConfigError(`--${flag} is "${text}"; allowed: ${range}${or === undefined ? '' : `, or ${or}`}`);
}
