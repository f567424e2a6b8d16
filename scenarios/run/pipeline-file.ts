/** `--pipeline`: a file that has where the messages of a pipeline of your own go in and come out. */
import { execa } from 'execa';
import { SETTINGS } from '../../pipeline/shared/command.ts';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { K6, QUIET } from '../../pipeline/stack/k6.ts';
import { PLACES, refusalOf } from '../lib/declarations.js';
import { assignmentsOf, firstProblem, takeFlag } from './k6.ts';
import { declaredBy, nameOf, variablesIn } from './usage.ts';

/** A setting of a file, as `k6 x arrival` reads it. */
interface Setting {
  name: string;
  value: string;
  /** Its place in the file, like `arrive.mqtt.url`. */
  key: string;
  /** file:line:column */
  at: string;
}

const FLAG = '--pipeline';
const isFlag = (arg: string) => arg === FLAG || arg.startsWith(`${FLAG}=`);

/** Why a campaign takes no pipeline of your own. */
export const startsEach = (which: string) =>
  `it starts the pipeline of this repository in each ${which}; a script takes it, like npm run ramp -- ${FLAG} my.yml`;

/**
 * Refuses `--pipeline` for a command that measures no pipeline of that kind.
 * @param why and what it takes instead
 * @throws {ConfigError} in one line
 */
export function refusePipeline(command: string, why: string, args: readonly string[]): void {
  if (args.some(isFlag)) throw new ConfigError(`${FLAG} is not for npm run ${command}: ${why}`);
}

/**
 * Takes `--pipeline` from the arguments of a script, and reads its file. Rejects in one line where the file is wrong, or has a
 * setting that the script would ignore.
 * @returns the arguments without it, and the settings that take effect beside -e
 */
export async function pipelineOf(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ args: string[]; settings: Record<string, string> }> {
  const { value: path, args: rest } = takeFlag(FLAG, args);
  if (path === undefined) return { args: rest, settings: {} };
  if (path === '') throw new ConfigError(`${FLAG} has no value; allowed: a pipeline file, like my.yml`);
  const flags = assignmentsOf(rest).map((text) => text.replace(/=.*/s, ''));
  const all = await read(path, flags, env);
  const known = new Set([...variablesIn(script), ...PLACES, ...SETTINGS]);
  for (const { name, key, at } of declaredBy(script) === undefined ? [] : all) {
    const refusal = refusalOf(nameOf(script), { [name]: 'set' });
    if (refusal !== undefined) throw new ConfigError(`${at}: ${refusal}`);
    if (!known.has(name))
      throw new ConfigError(`${at}: ${key} is ${name}, which is not a setting of ${script}: leave it out`);
  }
  return { args: rest, settings: Object.fromEntries(all.map(({ name, value }) => [name, value])) };
}

async function read(path: string, flags: readonly string[], env: NodeJS.ProcessEnv): Promise<Setting[]> {
  const words = ['x', 'arrival', 'settings', '--log-format', 'raw', '--given', flags.join(','), '--', path];
  const { exitCode, stdout, stderr } = await execa(K6, words, {
    env: { ...env, ...QUIET },
    extendEnv: false,
    reject: false,
  });
  if (exitCode === undefined) throw new Error('./k6 is not built: npm run setup builds it');
  if (exitCode !== 0) throw new ConfigError(firstProblem(stderr) || `k6 cannot read ${path}`);
  return JSON.parse(stdout);
}
