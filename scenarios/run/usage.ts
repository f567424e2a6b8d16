/** A scenario's head comment and settings, for `--help` and for the check before a run. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { OMITTED, SETTINGS } from '../../pipeline/shared/command.ts';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { like } from '../../pipeline/shared/flags.ts';
import { every, ignoredBy, ignoredLine, refusalOf, scripts, settingsOf } from '../lib/declarations.js';
import { read } from '../lib/env.js';
import { type IO, warn } from './io.ts';
import { assignmentsOf, isThere, variablesOf } from './k6.ts';

const SCENARIOS = join(import.meta.dirname, '..');
/** A variable in a script of the user's own: __ENV.RATE, {{ $env.RATE }}, read({ RATE: … }). */
const NAMED = /(?:__ENV|\$env|\$processEnvironment)\.(\w+)|\b([A-Z][A-Z0-9_]*):/g;

/** Settings by name, as scenarios/lib/env.js makes them. */
export type Declarations = Record<
  string,
  { fallback: unknown; unit?: string; meaning: string; allowed?: string; parse(text: string): unknown }
>;

/** Whether a file of scenarios/ is a script: JavaScript, or TypeScript that k6 runs as it is. */
export function isScript(file: string): boolean {
  return /\.[jt]s$/.test(file);
}

/** The name that a script's settings are declared under. */
export function nameOf(script: string): string {
  return basename(script).replace(/\.[jt]s$/, '');
}

/** The settings that a script of scenarios/ has by itself; undefined: a script of the user's own. */
export function declaredBy(script: string): Declarations | undefined {
  if (dirname(resolve(script)) !== SCENARIOS) return undefined;
  return (scripts as Record<string, () => Declarations>)[nameOf(script)]?.();
}

/** The settings of a pipeline of the user's own that a script takes beside its own ones; of any script without a name. */
export function ofPipeline(script?: string): Declarations {
  const own: Declarations = (script === undefined ? undefined : declaredBy(script)) ?? {};
  const all: Declarations = settingsOf(script === undefined ? undefined : nameOf(script));
  return Object.fromEntries(Object.entries(all).filter(([name]) => !(name in own || name in every())));
}

/** The variables that a script, or an Artillery file, reads: those it declares, or else those it names. */
export function variablesIn(script: string): string[] {
  const own = declaredBy(script);
  if (own !== undefined) return Object.keys(settingsOf(nameOf(script)));
  const text = isThere(script) ? readFileSync(script, 'utf8') : '';
  const named = [...text.matchAll(NAMED)].map(([, one, other]) => (one ?? other) as string);
  return [...Object.keys(every()), ...named];
}

/**
 * Checks the settings of a script, and throws in one line: a setting without a value and, when the script declares its settings, an
 * unknown name (a typing error would leave the default) or a wrong value.
 * @param campaign the script's campaign, which has further settings or replaces the script's
 */
export function checkVariables(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  campaign?: { name: string; settings?: readonly string[]; chooses: readonly string[] },
): void {
  const given = assignmentsOf(args).map((text) => {
    const [, name] = /^(\w+)=/.exec(text) ?? [];
    if (name === undefined) throw new ConfigError(`-e ${text} sets nothing; allowed: -e NAME=value`);
    return name;
  });
  const own = declaredBy(script);
  if (own === undefined) return;
  const all: Declarations = settingsOf(nameOf(script));
  const { name: whose = script, settings = [], chooses = [] } = campaign ?? {};
  const variables = variablesOf(args, env);
  const refusal = refusalOf(nameOf(script), variables);
  if (refusal !== undefined) throw new ConfigError(refusal);
  const chosen = chooses.filter((name) => variables[name] && !settings.includes(name));
  const allowed = [...new Set([...Object.keys(all), ...settings])]
    .filter((name) => !chooses.includes(name))
    .sort();
  const known = new Set([...allowed, ...SETTINGS, ...OMITTED]);
  const unknown = given.find((name) => !name.startsWith('K6_') && !known.has(name));
  const wrong = chosen[0] ?? unknown;
  if (wrong !== undefined) {
    const first = allowed.filter((name) => name in own || settings.includes(name));
    throw new ConfigError(
      `${wrong} is not a setting of ${whose}${like(wrong, allowed)}; allowed: ${first.join(', ')}, and what --help lists of every scenario`,
    );
  }
  try {
    read(all, variables);
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

/**
 * Removes the settings of other scripts from the environment, and says so in one line. Those of the pipeline stay.
 * @param campaign as of {@link checkVariables}
 */
export function leaveOutIgnored(
  script: string,
  env: NodeJS.ProcessEnv,
  io: Pick<IO, 'stderr'>,
  { name = script, settings = [] }: { name?: string; settings?: readonly string[] } = {},
): void {
  if (declaredBy(script) === undefined) return;
  const used = new Set([...SETTINGS, ...OMITTED, ...settings]);
  const ignored = ignoredBy(nameOf(script), env).filter((one) => !used.has(one));
  for (const one of ignored) delete env[one];
  const line = ignoredLine(ignored, name);
  if (line !== undefined) warn(io, line);
}

/** The comment at the head of a script. */
export function headOf(script: string): string[] {
  const lines = readFileSync(script, 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines.slice(0, end === -1 ? lines.length : end).map((line) => line.replace(/^\/\/ ?/, ''));
}

/** The help text of one scenario. */
export function usageOf(script: string): string {
  const own = declaredBy(script);
  const settings =
    own === undefined
      ? 'Its settings are its own: they are not listed here, and a name that is misspelt is not noticed.'
      : `Settings, as -e NAME=value or in the environment\n${linesOf(own)}`;
  return `${headOf(script).join('\n')}\n\n${settings}`;
}

/** The help on the settings that a script shares with others; of all such settings without a script. */
export function sharedUsage(script?: string): string {
  const pipeline = linesOf(ofPipeline(script));
  return everyUsage() + (pipeline && `\nSettings of a pipeline of your own\n${pipeline}\n`);
}

/** The help on the settings that every script has. */
export const everyUsage = () => `Settings of every scenario\n${linesOf(every())}\n`;

/** Each setting as text: name, meaning with unit, allowed values, default. */
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

/** A line for each scenario of a folder: its path and its question. */
export function scenariosIn(folder: string): string {
  return readdirSync(folder)
    .filter(isScript)
    .map((name) => `  ${name.padEnd(16)}${headOf(join(folder, name))[0]}`)
    .join('\n');
}
