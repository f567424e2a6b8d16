import { readFileSync } from 'node:fs';
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Errors } from '@sinclair/typebox/errors';
import { Default } from '@sinclair/typebox/value';
import { AddressError, type AddressKind, KINDS, parseAddress } from './address.ts';

/** A wrong setting. The message is one line: the variable, its value, what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads one role's settings. An empty variable counts as unset. Throws {@link ConfigError}. */
export function readConfig<T extends TObject>(schema: T, env: NodeJS.ProcessEnv = process.env): Static<T> {
  const given: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const text = env[name];
    if (text) given[name] = coerced(property, text);
  }
  const config = Default(schema, given) as Static<T>;
  const wrong = Errors(schema, config).First();
  if (wrong !== undefined) throw new ConfigError(explain(schema, env, wrong.path.slice(1)));
  for (const [name, { address: kind }] of Object.entries(schema.properties)) {
    const value = config[name as keyof typeof config];
    if (kind !== undefined && value !== undefined) checkAddress(kind, name, value as string);
  }
  return config;
}

/** The number or boolean that a text means, if the schema asks for one. Another text stays, and is refused. */
function coerced({ type }: TSchema, text: string): unknown {
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  if (type !== 'integer' && type !== 'number') return text;
  const number = Number(text);
  return text.trim() === '' || Number.isNaN(number) ? text : number;
}

/** The schema of an address. Its kind is in the schema, where {@link readConfig} looks for it. */
export const address = (kind: AddressKind, what = KINDS[kind].like) =>
  Type.String({ address: kind, description: what });

/** Checks an address here, as clients of Redis and MQTT take some wrong ones, and throw without naming the variable. */
function checkAddress(kind: AddressKind, name: string, value: string): void {
  try {
    parseAddress(kind, value);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new ConfigError(`${name} is ${quote(name, value)}: ${error.message}`);
  }
}

/** The file that a setting names. Throws a {@link ConfigError} when it cannot be read. */
export function readFileOf(name: string, path: string, allowed: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const why = (error as Error).message;
    throw new ConfigError(
      `${name} is ${JSON.stringify(path)}, which cannot be read: ${why}; allowed: ${allowed}`,
    );
  }
}

function explain(schema: TObject, env: NodeJS.ProcessEnv, name: string): string {
  const property = schema.properties[name];
  const range = property?.minimum === undefined ? '' : `${property.minimum} to ${property.maximum}, `;
  const given = env[name] ? `is ${quote(name, env[name])}` : 'is not set';
  return `${name} ${given}; allowed: ${range}${property?.description}`;
}

/** The settings of a role for its help text, without some: one line each, with the default. */
export function describe(schema: TObject, without: ReadonlySet<string> = new Set()): string {
  return Object.entries(schema.properties)
    .filter(([name]) => !without.has(name))
    .map(([name, { default: fallback, description }]) => {
      const value = fallback === undefined ? '' : ` (${fallback})`;
      return `  ${name.padEnd(20)}${description}${value}`;
    })
    .join('\n');
}

/** A value for a terminal, without passwords and tokens. */
function quote(name: string, value: string): string {
  if (name.endsWith('_TOKEN')) return `${value.length} characters that do not fit`;
  return JSON.stringify(withoutPassword(value));
}

/** A URL with its password replaced. If the URL cannot be parsed, all before the last `@` is replaced. */
export function withoutPassword(url: string): string {
  if (/^[a-z]+:\/\/[^:@/]*@[^@]*$/.test(url)) return url;
  return url.replace(/^([a-z]+:\/\/[^:@/]*:|).*@/s, '$1***@');
}
