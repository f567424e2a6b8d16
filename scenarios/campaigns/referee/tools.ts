/** The load generators, in the order of the table. */
import { join } from 'node:path';
import { execa } from 'execa';
import { QUIET as K6_QUIET } from '../../../pipeline/stack/k6.ts';
import { QUIET as ARTILLERY_QUIET } from '../../run/artillery-run.ts';
import { ROOT, type Tool } from './tool.ts';
import { ab } from './tools/ab.ts';
import { arrival } from './tools/arrival.ts';
import { artillery } from './tools/artillery.ts';
import { autocannon } from './tools/autocannon.ts';
import { fortio } from './tools/fortio.ts';
import { hey } from './tools/hey.ts';
import { httperf } from './tools/httperf.ts';
import { k6 } from './tools/k6.ts';
import { locust } from './tools/locust.ts';
import { loop } from './tools/loop.ts';
import { oha } from './tools/oha.ts';
import { siege } from './tools/siege.ts';
import { vegeta } from './tools/vegeta.ts';
import { wrk } from './tools/wrk.ts';
import { wrk2 } from './tools/wrk2.ts';

export const TOOLS: readonly Tool[] = [
  ...[...arrival, ...k6, artillery, vegeta, wrk2, fortio, httperf, ...hey, ...oha, ...autocannon, locust],
  ...[wrk, ab, siege, loop],
];

/** Where `--install` puts programs: the tools' `install` names it too. */
const INSTALLED = join(ROOT, '.stack/generators');

/** The environment of every tool: those that were installed here come first; no usage reports. */
export function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const folders = ['bin', 'node_modules/.bin', 'python/bin'].map((folder) => join(INSTALLED, folder));
  return { ...env, ...K6_QUIET, ...ARTILLERY_QUIET, PATH: [...folders, env.PATH].join(':') };
}

/** A POSIX shell exits with this when there is no such program. Its error has a number, which is no version. */
const NOT_FOUND = 127;

/** The version that is installed; null: none is. */
export async function versionOf({ version }: Tool, env: NodeJS.ProcessEnv): Promise<string | null> {
  const [command, pattern] = version;
  const options = { cwd: ROOT, env: environment(env), reject: false, all: true } as const;
  const { all, exitCode } = await execa('sh', ['-c', command], options);
  return exitCode === NOT_FOUND ? null : (pattern.exec(all)?.[1] ?? null);
}
