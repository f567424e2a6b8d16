/** `npm run artillery`: runs an Artillery script against the pipeline. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { followsProfile, readFile, readOptions } from '../../extensions/artillery-plugin-arrival/options.ts';
import { readRide } from '../../extensions/artillery-plugin-arrival/ride/options.ts';
import type { Script } from '../../extensions/artillery-plugin-arrival/script.ts';
import { isMap, type Table } from '../../extensions/artillery-plugin-arrival/table.ts';
import { commandOf } from '../../pipeline/shared/command.ts';
import { ConfigError, RunConfig, readConfig } from '../../pipeline/shared/config.ts';
import { isEntry } from '../../pipeline/shared/entry.ts';
import { like, readFlags } from '../../pipeline/shared/flags.ts';
import { printFolded } from '../../pipeline/shared/fold.ts';
import { trust } from '../../pipeline/shared/trust.ts';
import { against, exitCodeOf, runEnvironment, settle } from './against.ts';
import { ArtilleryRun, installed } from './artillery-run.ts';
import { inRunDirectory, runName } from './directory.ts';
import { type IO, runProcess } from './io.ts';
import { refusePipeline } from './pipeline-file.ts';
import { variablesIn } from './usage.ts';

const RAMP = 'scenarios/ramp.artillery.yml';

const HELP = `Runs a file of Artillery's against the pipeline and leaves a report in reports/runs/.

  npm run artillery [-- [<file.yml>] [<flags of artillery run>]]
  npm run artillery -- -e full     the load of npm run ramp, most of which one thread sends late

The default file is ${RAMP}, whose 50 requests/s one thread sends on time beside the pipeline.
The first use installs Artillery, 470 MB.
It uses the pipeline that \`npm run pipeline\` has up, else it starts one and stops it afterwards.
The exit code is Artillery's: 0 when the run has passed and the conditions of the plugin ensure hold,
99 when the run is invalid or has failed, 1 when it could not start.

Environment
  INGEST_URL, INGEST_TOKEN, MQTT_URL, REDIS_URL   a pipeline of your own: nothing is started
  TOPOLOGY, NETWORK, LABELS, CLOCK_LIMIT, TRACES, STACK_DIR, RUN_DIR   as for npm run ramp
`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
/** Flags of `artillery run` on this host. */
const FLAGS = {
  environment: { ...text, short: 'e' },
  config: { ...text, short: 'c' },
  target: { ...text, short: 't' },
  variables: { ...text, short: 'v' },
  payload: { ...text, short: 'p' },
  output: { ...text, short: 'o' },
  insecure: { ...flag, short: 'k' },
  quiet: { ...flag, short: 'q' },
  solo: { ...flag, short: 's' },
  ...{ overrides: text, 'scenario-name': text, dotenv: text, 'env-file': text, count: text },
  ...{ name: text, tags: text, note: text, key: text, record: flag },
} as const;

/** Runs a file of Artillery's, and returns the exit code of the command. */
export async function main(args: readonly string[], env: NodeJS.ProcessEnv, io: IO): Promise<number> {
  refusePipeline(
    'artillery',
    'the script says what is posted (config.target) and where messages arrive (config.plugins.arrival.arrive); for one with a profile, INGEST_URL, INGEST_TOKEN, MQTT_URL and REDIS_URL do',
    args,
  );
  const { values, positionals } = readFlags(args, FLAGS, true);
  if (values.help) {
    printFolded(HELP, io.stdout);
    return 0;
  }
  const [file = RAMP, more] = positionals;
  if (more !== undefined) throw new ConfigError(`${more} is one file too many; allowed: one of Artillery's`);
  checkFlags(values, env);
  checkFile(file, values, env);
  const config = await settle(readConfig(RunConfig, env), env);
  trust(config.TLS_CA);

  const command = commandOf(file, args, env.npm_lifecycle_event ?? 'artillery', {
    env,
    names: variablesIn(file),
  });
  const flags = args.filter((arg) => arg !== file);
  return inRunDirectory(env.RUN_DIR, runName(file, config, new Date()), async (runDir) => {
    const bin = await installed(io);
    const own = runEnvironment(config, env, runDir, command);
    return against(config, env, io, async ({ launch }) =>
      exitCodeOf(await launch(() => new ArtilleryRun(bin, ['run', file, ...flags], own))),
    );
  });
}

/** Refuses flags that Artillery ends with a stack trace for, or ignores with a warning, and reads the variables of a file. */
function checkFlags(given: { [name: string]: unknown }, env: NodeJS.ProcessEnv): void {
  for (const flag of ['overrides', 'variables']) {
    if (given[flag] !== undefined && !isMap(parsed(String(given[flag]))))
      throw new ConfigError(`--${flag} is ${given[flag]}; allowed: a JSON object`);
  }
  for (const flag of ['config', 'payload', 'dotenv', 'env-file']) {
    if (given[flag] !== undefined && !existsSync(String(given[flag])))
      throw new ConfigError(`--${flag} is ${given[flag]}, which is not there; allowed: a file`);
  }
  for (const flag of ['dotenv', 'env-file']) {
    if (given[flag] !== undefined) readVariables(flag, String(given[flag]), env);
  }
}

/** Sets variables as Artillery does, which keeps those that are set: they may name the pipeline. */
function readVariables(flag: string, file: string, env: NodeJS.ProcessEnv): void {
  try {
    Object.assign(env, { ...parseEnv(readFileSync(file, 'utf8')), ...env });
  } catch {
    throw new ConfigError(`--${flag} is ${file}, which cannot be read; allowed: a file of lines NAME=value`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Given {
  environment?: string;
  config?: string;
  overrides?: string;
}

/**
 * Checks a script as far as possible without Artillery, which merges the flags.
 * @throws in one line
 */
function checkFile(file: string, given: Given, env: NodeJS.ProcessEnv): void {
  if (!existsSync(file)) throw new ConfigError(`there is no ${file}; allowed: a file, such as ${RAMP}`);
  if (given.config !== undefined || !/\.(ya?ml|json)$/.test(file)) return;
  const { config: written = {}, ...rest } = readFile(file) as { config?: Table };
  const config = resolved(written, given.environment, env) as Table;
  const environments = (config.environments ?? {}) as Record<string, Table>;
  const names = Object.keys(environments);
  const { environment: name } = given;
  if (name !== undefined && !names.includes(name)) {
    const allowed = names.join(', ') || 'none, as it has none';
    throw new ConfigError(
      `-e ${name} is not an environment of ${file}${like(name, names)}; allowed: ${allowed}`,
    );
  }
  if (given.overrides !== undefined) return;
  const chosen = merged(config, environments[name ?? '']) as Table;
  const { environments: _, variables: __, ...used } = chosen;
  if (JSON.stringify(used).includes('{{')) return; // the plugin checks what Artillery makes of it
  if (followsProfile(chosen)) readOptions({ config: chosen, ...rest }, resolve(file), env);
  else readRide({ config: chosen, ...rest } as Script);
}

/** A value with the variables of the environment that Artillery puts into config, as texts. */
function resolved(value: unknown, environment: string | undefined, env: NodeJS.ProcessEnv): unknown {
  if (typeof value === 'string')
    return value.replaceAll(
      /\{\{\s*\$(?:(?:env|processEnvironment)\.(\w+)|environment)\s*\}\}/g,
      (_, variable?: string) => (variable === undefined ? environment : env[variable]) ?? 'undefined',
    );
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, resolved(one, environment, env)]);
  return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries);
}

/** Both values, as Artillery puts an environment over config: members of maps and lists one by one. */
function merged(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (typeof base !== 'object' || typeof over !== 'object' || base === null || over === null) return over;
  const both = { ...base } as Table;
  for (const [key, value] of Object.entries(over)) both[key] = merged(both[key], value);
  return Array.isArray(base) ? Object.values(both) : both;
}

if (isEntry(import.meta)) runProcess(main);
