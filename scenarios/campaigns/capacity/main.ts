import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { commandOf } from '../../../pipeline/shared/command.ts';
import { describe, RunConfig, readConfig } from '../../../pipeline/shared/config.ts';
import { isEntry } from '../../../pipeline/shared/entry.ts';
import { printFolded } from '../../../pipeline/shared/fold.ts';
import { scripts } from '../../lib/declarations.js';
import { against, runEnvironment, settle } from '../../run/against.ts';
import { inRunDirectory, runName } from '../../run/directory.ts';
import { type IO, openPage, print, runProcess, warn } from '../../run/io.ts';
import { addressesOf, cameToItsEnd, checkScript, K6Run, onlyVariables, variablesOf } from '../../run/k6.ts';
import { RunOutputs } from '../../run/outputs.ts';
import { pipelineOf } from '../../run/pipeline-file.ts';
import { checkVariables, leaveOutIgnored, linesOf, sharedUsage, variablesIn } from '../../run/usage.ts';
import { requests } from './answer.ts';
import { about, Budget } from './budget.ts';
import { findCapacity, type Plan } from './find.ts';

const SCRIPT = join(import.meta.dirname, '../../capacity.js');

const number = (fallback: number, minimum: number, maximum: number, description: string) =>
  Type.Number({ minimum, maximum, default: fallback, description });

const CapacityConfig = Type.Object({
  P99: number(100, 1, 3_600_000, 'limit of arrival p99, ms'),
  START: number(500, 1, 1e6, 'requests per second of the first probe'),
  LOWEST: number(10, 1, 1e6, 'the lowest rate that is tried'),
  HIGHEST: number(50_000, 1, 1e6, 'the highest rate that is tried'),
  PRECISION: number(
    0.05,
    0.001,
    1,
    'the gap between the rate that held and the one that did not, as a share: 0.05 is 5 %',
  ),
  PROBE: number(10, 1, 3600, 'seconds of a probe, after a warm-up of 2 s'),
  CONFIRM: number(30, 1, 86_400, 'seconds of a run that confirms a rate'),
  MINUTES: number(10, 0.1, 100_000, 'for the search: no run begins that would end later'),
});
type Settings = Static<typeof CapacityConfig>;

/** The search sets these for each of its runs. */
const CHOOSES = ['RATE', 'DURATION', 'RUN_ID'];

/** The settings of a run, beside those of the search. */
const ofRuns = () =>
  Object.fromEntries(
    Object.entries(scripts.capacity()).filter(
      ([name]) => !CHOOSES.includes(name) && !(name in CapacityConfig.properties),
    ),
  );

const HELP = `Searches for the highest rate at which p99 of the arrival stays below a limit while the backlog is flat.

  npm run capacity [-- -e NAME=value …] [--pipeline my.yml] [--open]

It doubles the rate until one does not hold, bisects the span in between, and confirms both ends with longer runs: the rate has to hold, and
the next one up must not; otherwise it continues from there. It tries a rate that does not hold once more before that counts, and up to four
times when a run is undecided: by its verdict, or as the hypervisor or other processes took the CPU. Each line has the time that is left. The report is that of the confirming run;
capacity.json beside it lists all runs.
The exit code is 0 when a rate was confirmed, 99 when none was.

Settings, by -e or in the environment
${describe(CapacityConfig)}
${linesOf(ofRuns())}

`;

/** The number of cores up to which processes wait for each other. */
const FEW_CORES = 2;

/** The most seconds of a probe while the rate doubles; longer probes check its result. */
const QUICK = 3;

/** Searches the capacity, and returns the exit code of the command. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv, io: IO): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    printFolded(HELP + sharedUsage(SCRIPT), io.stdout);
    return 0;
  }
  const given = argv.filter((arg) => arg !== '--open');
  const { args, settings: file } = await pipelineOf(SCRIPT, given, env);
  onlyVariables(args);
  const names = Object.keys(CapacityConfig.properties);
  const settings = readConfig(CapacityConfig, variablesOf(args, env));
  const campaign = { name: 'npm run capacity', settings: names, chooses: CHOOSES };
  checkVariables(SCRIPT, args, { ...env, ...file }, campaign);
  leaveOutIgnored(SCRIPT, env, io, campaign);
  const command = commandOf(SCRIPT, given, env.npm_lifecycle_event ?? 'capacity', {
    env,
    names: [...names, ...variablesIn(SCRIPT)],
  });
  Object.assign(env, file, variablesOf(args, {}));
  const plan = planOf(settings);
  const config = await settle(readConfig(RunConfig, env), env);
  const environment = (runDir: string) => runEnvironment(config, env, runDir, command);
  const outputs = new RunOutputs(io);
  return inRunDirectory(env.RUN_DIR, runName(SCRIPT, config, new Date()), async (dir) => {
    await checkScript(SCRIPT, [], { ...addressesOf(SCRIPT, env), ...environment(dir) });
    if (
      config.INGEST_URL === undefined &&
      config.CPU_AFFINITY === undefined &&
      availableParallelism() <= FEW_CORES
    ) {
      print(
        io,
        'cores   few for so many processes: CPU_AFFINITY gives each its own (pipeline/README.md#on-few-cores)',
      );
    }
    const code = await against(config, env, io, ({ launch, stop }) =>
      findCapacity(settings, plan, dir, io, async (rate, seconds, runDir) => {
        const own = [`RATE=${rate}`, `DURATION=${seconds}`, `RUN_DIR=${runDir}`].flatMap((one) => [
          '-e',
          one,
        ]);
        const { args: outs, env: more } = outputs.next(environment(runDir));
        const all = { ...environment(runDir), ...more };
        const k6 = () => new K6Run(SCRIPT, [...own, ...outs], all, 'errors', [], (line) => warn(io, line));
        const { code, signal } = await launch(k6);
        stop.throwIfAborted();
        if (!cameToItsEnd({ code, signal }))
          throw new Error(`k6 ended with ${signal ?? code} at ${requests(rate)}`);
      }),
    );
    const page = join(dir, 'index.html');
    if (argv.includes('--open') && existsSync(page)) await openPage(page, env, io);
    return code;
  });
}

/** The search, the lengths of its runs, and its time. Throws when that is too little. */
function planOf(settings: Settings): Plan {
  if (settings.LOWEST > settings.HIGHEST)
    throw new Error(`LOWEST is ${settings.LOWEST}, above HIGHEST, ${settings.HIGHEST}`);
  const wanted = {
    start: settings.START,
    lowest: settings.LOWEST,
    highest: settings.HIGHEST,
    precision: settings.PRECISION,
  };
  const lengths = {
    quick: Math.min(QUICK, settings.PROBE),
    probe: settings.PROBE,
    confirm: settings.CONFIRM,
  };
  const budget = new Budget(settings.MINUTES * 60, lengths);
  if (budget.least > settings.MINUTES * 60)
    throw new Error(
      `MINUTES is ${settings.MINUTES}, and a search with CONFIRM=${settings.CONFIRM} takes ${about(budget.least)} at least: more MINUTES, or a shorter CONFIRM`,
    );
  return { wanted, lengths, budget };
}

if (isEntry(import.meta)) runProcess(main);
