import { readFileSync } from 'node:fs';
import type { Static, TObject } from '@sinclair/typebox';
import { envSchema } from 'env-schema';

/** A wrong setting. The message is one line: the variable, its value, what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads one role's settings. An empty variable counts as unset. Throws {@link ConfigError}. */
export function readConfig<T extends TObject>(schema: T, env: NodeJS.ProcessEnv = process.env): Static<T> {
  const data = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  let config: Static<T>;
  try {
    config = envSchema<Static<T>>({ schema, data, env: false });
  } catch (error) {
    throw new ConfigError(explain(schema, data, error as Invalid));
  }
  for (const [name, value] of Object.entries(config)) {
    if (name.endsWith('_URL') && typeof value === 'string') checkUrl(name, value);
  }
  return config;
}

/** The address of each node that a URL names: `redis://user:password@host:port,host:port`. */
export function nodesOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = /^([a-z]+:\/\/(?:[^@/]*@)?)([^/?]+)(.*)$/.exec(url) ?? [];
  return hosts.split(',').map((host) => `${before}${host}${after}`);
}

/** Checks a URL here, as clients of Redis and MQTT throw without naming the variable. */
function checkUrl(name: string, value: string): void {
  const given = `${name} is ${quote(name, value)}`;
  try {
    decodeURIComponent(value);
  } catch {
    throw new ConfigError(`${given}; allowed: a % of a user or a password is written %25`);
  }
  const wrong = nodesOf(value).some((node) => !URL.canParse(node));
  if (wrong) throw new ConfigError(`${given}, which is no URL; allowed: a port is a number up to 65535`);
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

interface Invalid extends Error {
  errors?: { instancePath: string; params: { missingProperty?: string } }[];
}

function explain(schema: TObject, data: NodeJS.ProcessEnv, { errors, message }: Invalid): string {
  const first = errors?.[0];
  const name = first?.params.missingProperty ?? first?.instancePath.slice(1);
  if (!name) return message;
  const property = schema.properties[name];
  const range = property?.minimum === undefined ? '' : `${property.minimum} to ${property.maximum}, `;
  const given = data[name] === undefined ? 'is not set' : `is ${quote(name, data[name])}`;
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
