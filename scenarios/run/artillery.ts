/** `npm run artillery`: a file of Artillery's against the pipeline. */
import { commandOf } from '../../pipeline/common/command.ts';
import { RunConfig, readConfig } from '../../pipeline/common/config.ts';
import { trust } from '../../pipeline/common/trust.ts';
import { exitAfter } from '../../pipeline/stack/explain.ts';
import { installed } from './artillery-install.ts';
import { ArtilleryRun } from './artillery-run.ts';
import { against, exitCodeOf, inRunDirectory, runEnvironment, runName, settle } from './run.ts';
import { variablesIn } from './usage.ts';

const RAMP = 'scenarios/ramp.artillery.yml';

const HELP = `Runs a file of Artillery's against the pipeline and leaves a report in reports/runs/.

  npm run artillery [-- <file.yml> [<flags of artillery run>]]

The file is ${RAMP} unless another is named. Artillery is installed on first use, 470 MB.
It uses the pipeline that \`npm run pipeline\` has up, else it starts one and stops it afterwards.
The exit code is Artillery's own: 0 when the run has passed and what the plugin ensure asks for holds,
99 when the run is invalid or has failed, 1 when it could not start.

Environment
  INGEST_URL, INGEST_TOKEN, MQTT_URL, REDIS_URL   a pipeline of your own: nothing is started
  TOPOLOGY, NETWORK, LABELS, CLOCK_LIMIT, STACK_DIR, RUN_DIR   as for npm run ramp
`;

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.some((arg) => arg === '--help' || arg === '-h')) {
    console.log(HELP);
    return 0;
  }
  const [file, flags] = args[0]?.startsWith('-') === false ? [args[0], args.slice(1)] : [RAMP, args];
  const config = await settle(readConfig(RunConfig));
  trust(config.TLS_CA);

  const bin = await installed();
  const command = commandOf(file, args, process.env.npm_lifecycle_event ?? 'artillery', {
    env: process.env,
    names: variablesIn(file),
  });
  return inRunDirectory(process.env.RUN_DIR, runName(file, config, new Date()), (runDir) => {
    const env = runEnvironment(config, runDir, command);
    return against(config, async (launch) =>
      exitCodeOf(await launch(() => new ArtilleryRun(bin, ['run', file, ...flags], env))),
    );
  });
}

exitAfter(main());
