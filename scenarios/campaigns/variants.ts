/** Commands that run a script on variants of the pipeline, and compare them: deployments and workers. */
import { join, resolve } from 'node:path';
import { RunConfig, readConfig } from '../../pipeline/shared/config.ts';
import { printFolded } from '../../pipeline/shared/fold.ts';
import { PORTS } from '../lab/remote.ts';
import { type IO, type Main, print } from '../run/io.ts';
import { ADDRESSES, checkScript, onlyVariables, variablesOf } from '../run/k6.ts';
import { refusePipeline, startsEach } from '../run/pipeline-file.ts';
import { hasPassed, type Measured, measureSeries, ScriptRuns } from '../run/series.ts';
import { checkVariables, everyUsage, leaveOutIgnored } from '../run/usage.ts';

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

/** The command that measures a campaign. */
export function campaignCommand(campaign: Campaign): Main {
  return (args, env, io) => measure(campaign, args, env, io);
}

async function measure(
  campaign: Campaign,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  io: IO,
): Promise<number> {
  const { name, script, owns, settings = [] } = campaign;
  if (args.includes('--help') || args.includes('-h')) {
    printFolded(`${campaign.help}\n\n${everyUsage()}`, io.stdout);
    return 0;
  }
  refusePipeline(name, startsEach('variant'), args);
  onlyVariables(args);
  const variables = variablesOf(args, env);
  const taken = ['INGEST_URL', 'REDIS_URL', 'MQTT_URL', ...owns].find((one) => variables[one]);
  if (taken !== undefined)
    throw new Error(`${taken} is set, and ${name} starts each pipeline by itself: leave it out`);
  const chooses = ['RUN_DIR', 'RUN_ID'];
  const whole = { name: `npm run ${name}`, settings, chooses };
  checkVariables(script, args, env, whole);
  leaveOutIgnored(script, variables, io, whole);
  Object.assign(env, variables);
  const variants = campaign.variants(variables);
  await checkScript(script, [], { ...variables, ...ADDRESSES });
  await campaign.require?.();

  const runs = new ScriptRuns(script, variables, io);
  const dir = join(resolve(readConfig(RunConfig, env).STACK_DIR), name);
  return measureSeries<Variant, Measured>(
    {
      name,
      variants,
      async measure(variant, supervision) {
        const place = await variant.place?.(dir).catch((error: Error) => error.message);
        if (typeof place === 'string') return `${variant.name}   not measured: ${place}`;
        try {
          print(io, `${name}  ${variant.name}`);
          const own = { ...PORTS, ...variant.env, STACK_DIR: place?.dir ?? dir };
          return await runs.measure(variant.name, supervision, ['-q'], own, place?.within);
        } finally {
          await place?.stop();
        }
      },
      passed: hasPassed,
      table: campaign.table,
      each: true,
    },
    io,
  );
}
