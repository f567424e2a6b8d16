/** Runs a script on variants of the pipeline, and compares them: for deployments and workers. */
import { join, resolve } from 'node:path';
import { RunConfig, readConfig } from '../../pipeline/common/config.ts';
import { printFolded } from '../../pipeline/common/fold.ts';
import { exitAfter } from '../../pipeline/stack/explain.ts';
import { PORTS } from '../lab/remote.ts';
import { ADDRESSES, checkScript, onlyVariables, variablesOf } from '../run/k6.ts';
import { type Measured, RunFailed, Series } from '../run/series.ts';
import { checkVariables } from '../run/usage.ts';

/** Starts a variant that needs more than settings. @returns the directory of its stack.json, and the command prefix of its generator */
export type Place = (dir: string) => Promise<{ dir: string; within: string[]; stop(): Promise<void> }>;

export interface Variant {
  name: string;
  /** Settings of the pipeline, and of the run. */
  env: Record<string, string>;
  /** Undefined: run.ts starts the pipeline. Rejects with the reason when this machine cannot have it. */
  place?: Place;
}

export interface Campaign {
  name: string;
  script: string;
  help: string;
  /** Settings of the pipeline that the campaign sets. */
  owns: readonly string[];
  /** Names of further settings, beside the script's. */
  settings?: readonly string[];
  variants(env: NodeJS.ProcessEnv): Variant[];
  /** Rejects when a tool is missing. */
  require?(): Promise<void>;
  table(all: readonly Measured[]): string;
}

/** Ends this process with the campaign's exit code. */
export function main(campaign: Campaign): void {
  exitAfter(measure(campaign, process.argv.slice(2)));
}

async function measure(campaign: Campaign, args: string[]): Promise<number> {
  const { name, script, owns, settings = [] } = campaign;
  if (args.includes('--help') || args.includes('-h')) {
    printFolded(campaign.help);
    return 0;
  }
  onlyVariables(args);
  const env = variablesOf(args);
  const taken = ['INGEST_URL', 'REDIS_URL', 'MQTT_URL', ...owns].find((one) => env[one]);
  if (taken !== undefined)
    throw new Error(`${taken} is set, and ${name} starts each pipeline by itself: leave it out`);
  checkVariables(script, args, { name: `npm run ${name}`, settings, chooses: ['RUN_DIR', 'RUN_ID'] });
  Object.assign(process.env, env);
  const variants = campaign.variants(env);
  await checkScript(script, [], { ...env, ...ADDRESSES });
  await campaign.require?.();

  const series = new Series(script, env);
  const dir = join(resolve(readConfig(RunConfig).STACK_DIR), name);
  const refused: string[] = [];
  for (const variant of variants) {
    const place = await variant.place?.(dir).catch((error: Error) => error.message);
    if (typeof place === 'string') {
      refused.push(`${variant.name}   not measured: ${place}`);
      continue;
    }
    try {
      console.log(`${name}  ${variant.name}`);
      const own = { ...PORTS, ...variant.env, STACK_DIR: place?.dir ?? dir };
      await series.measure(variant.name, ['-q'], own, place?.within);
    } catch (error) {
      if (series.stopped && error instanceof RunFailed) return error.code;
      throw error;
    } finally {
      await place?.stop();
    }
  }
  const code = await series.compare(name, [campaign.table(series.all), ...refused].join('\n\n'));
  return refused.length > 0 ? 99 : code;
}
