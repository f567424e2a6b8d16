/** What a scenario says of itself, for `--help` and for the check before a run: its head comment, and the settings that it declares. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { closest } from 'fastest-levenshtein';
import { NOT_TOLD, SETTINGS } from '../../pipeline/common/command.ts';
import { ConfigError } from '../../pipeline/common/config.ts';
import { every, scripts } from '../lib/declarations.js';
import { read } from '../lib/env.js';
import { environmentArgs, variablesOf } from './k6.ts';

const SCENARIOS = join(import.meta.dirname, '..');
/** A variable that a file of somebody's own names: __ENV.RATE, {{ $env.RATE }}, read({ RATE: … }). */
const NAMED = /(?:__ENV|\$env|\$processEnvironment)\.(\w+)|\b([A-Z][A-Z0-9_]*):/g;

/** Settings by name, as scenarios/lib/env.js makes them. */
export type Declarations = Record<
  string,
  { fallback: unknown; unit?: string; meaning: string; allowed?: string; parse(text: string): unknown }
>;

/** What a script of scenarios/ declares, beside what every one has; undefined: it is somebody's own. */
export function declaredBy(script: string): Declarations | undefined {
  if (dirname(resolve(script)) !== SCENARIOS) return undefined;
  return (scripts as Record<string, () => Declarations>)[basename(script, '.js')]?.();
}

/** The variables that a script, or an Artillery file, may be told by: those that it declares, or else those that it names. */
export function variablesIn(script: string): string[] {
  const own = declaredBy(script);
  if (own !== undefined) return Object.keys({ ...own, ...every() });
  const text = existsSync(script) ? readFileSync(script, 'utf8') : '';
  const named = [...text.matchAll(NAMED)].map(([, one, other]) => (one ?? other) as string);
  return [...Object.keys(every()), ...named];
}

/**
 * Refuses in one line what is wrong with the settings of a script that declares them: a name that it does not know, as a typing error
 * would leave the default, or a value.
 * @param more names that flags may set beside those of the script
 */
export function checkVariables(script: string, args: readonly string[], more: readonly string[] = []): void {
  const own = declaredBy(script);
  if (own === undefined) return;
  const all = { ...own, ...every() };
  const allowed = [...new Set([...Object.keys(all), ...more])].sort();
  const known = new Set([...allowed, ...SETTINGS, ...NOT_TOLD]);
  for (const arg of environmentArgs(args)) {
    const name = arg.replace(/^(--env=|-e)/, '').replace(/=.*/s, '');
    if (!/^\w+$/.test(name) || name.startsWith('K6_') || known.has(name)) continue;
    throw new ConfigError(
      `${name} is no setting of ${script}, ${closest(name, allowed)} is; allowed: ${allowed.join(', ')}`,
    );
  }
  try {
    read(all, variablesOf(args));
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

/** The comment that a script begins with. */
export function headOf(script: string): string[] {
  const lines = readFileSync(script, 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines.slice(0, end === -1 ? lines.length : end).map((line) => line.replace(/^\/\/ ?/, ''));
}

/** The part of a help text that is one scenario's. */
export function usageOf(script: string): string {
  const own = declaredBy(script);
  const settings =
    own === undefined
      ? 'Its settings are its own: they are not listed here, and a name that is misspelt is not noticed.'
      : `Settings, as -e NAME=value or in the environment\n${linesOf(own)}`;
  return `${headOf(script).join('\n')}\n\n${settings}`;
}

/** Each setting in words: its name, what it says with its unit, what is allowed, and its default. */
export function rowsOf(
  declared: Declarations,
): [name: string, says: string, allowed: string, value: string][] {
  const values = read(declared, {});
  return Object.entries(declared).map(([name, { fallback, unit, meaning, allowed = '' }]) => {
    const value = typeof fallback === 'function' ? values[name] : fallback;
    return [name, unit ? `${unit} ${meaning}` : meaning, allowed, String(value)];
  });
}

/** A line for each setting. */
export function linesOf(declared: Declarations): string {
  return rowsOf(declared)
    .map(([name, says, allowed, value]) => {
      const limits = [value && `default ${value}`, allowed].filter(Boolean).join('; ');
      return `  ${name.padEnd(20)}${says}${limits && ` (${limits})`}`;
    })
    .join('\n');
}

/** A line for each scenario of a folder: its path and the question that it answers. */
export function scenariosIn(folder: string): string {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => `  ${name.padEnd(16)}${headOf(join(folder, name))[0]}`)
    .join('\n');
}
