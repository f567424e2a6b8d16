import { appendFile, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { commandOf } from '../../../pipeline/common/command.ts';
import { describe, RunConfig, readConfig } from '../../../pipeline/common/config.ts';
import { exitAfter } from '../../../pipeline/stack/explain.ts';
import { shortPath } from '../../../pipeline/stack/file.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { render } from '../../../reports/k6.ts';
import { against, Interrupted, runEnvironment, settle } from '../../run/against.ts';
import { inRunDirectory, runName } from '../../run/directory.ts';
import { ADDRESSES, cameToItsEnd, checkScript, K6Run, onlyVariables, variablesOf } from '../../run/k6.ts';

import { checkVariables, variablesIn } from '../../run/usage.ts';
import { answerFigures, line, type Row, sentence } from './answer.ts';
import { about, Budget } from './budget.ts';
import { disturbance, gaveWay, judge } from './judge.ts';
import { type Bracket, confirm, NOTHING, narrowed, type Outcome, search, tried } from './search.ts';

const SCRIPT = 'scenarios/capacity.js';

const number = (fallback: number, minimum: number, maximum: number, description: string) =>
  Type.Number({ minimum, maximum, default: fallback, description });

const CapacityConfig = Type.Object({
  P99: number(100, 1, 3_600_000, 'ms that p99 of the arrival has to stay below'),
  START: number(500, 1, 1e6, 'requests per second of the first probe'),
  LOWEST: number(10, 1, 1e6, 'the lowest rate that is tried'),
  HIGHEST: number(50_000, 1, 1e6, 'the highest rate that is tried'),
  PRECISION: number(0.05, 0.001, 1, 'between the rate that held and the one that did not, as a share'),
  PROBE: number(10, 1, 3600, 'seconds of a probe, after a warm-up of 2 s'),
  CONFIRM: number(30, 1, 86_400, 'seconds of a run that confirms a rate'),
  MINUTES: number(10, 0.1, 100_000, 'that the search may take: no run begins that would end later'),
});
type Settings = Static<typeof CapacityConfig>;

const HELP = `Searches for the highest rate at which p99 of the arrival stays below a limit while the backlog is flat.

  npm run capacity [-- -e NAME=value …]

It doubles the rate until one is not held, halves the span in between, and confirms both ends with longer runs: the rate has to be held, and
the next one up must not be; else it goes on from there. A rate that is not held is tried once more before that counts, and up to four times in
all where the hypervisor or other processes had the CPU meanwhile. Each line says how long it will go on. The report is that of the confirming run;
capacity.json beside it lists all runs.
The exit code is 0 when a rate was confirmed, 99 when none was.

Settings, by -e or in the environment
${describe(CapacityConfig)}
`;

/** On so many Linux may leave one idle while processes wait for the other. */
const FEW_CORES = 2;

/** Seconds of a probe while the rate is doubled, at most: what it says is looked at again. */
const QUICK = 3;

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(HELP);
    return 0;
  }
  onlyVariables(args);
  const names = Object.keys(CapacityConfig.properties);
  const settings = readConfig(CapacityConfig, variablesOf(args));
  checkVariables(SCRIPT, args, {
    name: 'npm run capacity',
    settings: names,
    chooses: ['RATE', 'DURATION'],
  });
  const command = commandOf(SCRIPT, args, process.env.npm_lifecycle_event ?? 'capacity', {
    env: process.env,
    names: [...names, ...variablesIn(SCRIPT)],
  });
  Object.assign(process.env, variablesOf(args));
  const plan = planOf(settings);
  const config = await settle(readConfig(RunConfig));
  const env = (runDir: string) => runEnvironment(config, runDir, command);
  return inRunDirectory(process.env.RUN_DIR, runName(SCRIPT, config, new Date()), async (dir) => {
    await checkScript(SCRIPT, [], { ...ADDRESSES, ...env(dir) });
    if (
      config.INGEST_URL === undefined &&
      config.CPU_AFFINITY === undefined &&
      availableParallelism() <= FEW_CORES
    ) {
      console.log(
        'cores   few for so many processes: CPU_AFFINITY says which runs where, see pipeline/README.md#on-few-cores',
      );
    }
    return against(config, (launch, stop) =>
      findCapacity(settings, plan, dir, async (rate, seconds, runDir) => {
        const own = [`RATE=${rate}`, `DURATION=${seconds}`, `RUN_DIR=${runDir}`].flatMap((one) => [
          '-e',
          one,
        ]);
        const k6 = () => new K6Run(SCRIPT, own, env(runDir), 'errors');
        const { code, signal } = await launch(k6);
        if (stop.aborted) throw new Interrupted();
        if (!cameToItsEnd({ code, signal })) throw new Error(`k6 ended with ${signal ?? code} at ${rate}/s`);
      }),
    );
  });
}

/** What is searched for, how long each run is, and what time there is. Throws when there is too little. */
function planOf(settings: Settings) {
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

/**
 * @param run runs one rate for so many seconds, and leaves what is found in a directory
 * @returns the exit code
 */
async function findCapacity(
  settings: Settings,
  { wanted, lengths, budget }: ReturnType<typeof planOf>,
  dir: string,
  run: (rate: number, seconds: number, runDir: string) => Promise<void>,
): Promise<number> {
  const rows: Row[] = [];
  let lastHeld: Run | undefined;
  let lastNot: Run | undefined;
  /**
   * Runs one rate, and prints its result in a line.
   * @param ahead s that are left after it, about
   */
  const attempt = async (
    rate: number,
    seconds: number,
    runDir: string,
    ahead: (holds: boolean) => number,
  ): Promise<Outcome> => {
    const started = performance.now();
    await run(rate, seconds, runDir);
    budget.took(seconds, (performance.now() - started) / 1000);
    const found = JSON.parse(await readFile(join(runDir, 'run.json'), 'utf8')) as Run;
    const { holds, reasons } = judge(found);
    const disturbed = holds ? undefined : disturbance(found);
    if (holds) lastHeld = found;
    else lastNot = found;
    const row = {
      rate,
      seconds,
      holds,
      p99_ms: found.latency.arrival.p99,
      reasons,
      disturbed: disturbed ?? null,
    };
    rows.push(row);
    console.log(line(row, ahead(holds)));
    return holds ? 'held' : disturbed === undefined ? 'not held' : 'disturbed';
  };
  const probe = (rate: number, known: Bracket): Promise<boolean> => {
    const seconds = known.held === 0 || known.notHeld === undefined ? lengths.quick : lengths.probe;
    const place = () => join(dir, 'probes', `${rows.length + 1}-${rate}`);
    const ahead = (holds: boolean) => budget.ofSearch(narrowed(known, rate, holds), wanted);
    return tried(
      () => attempt(rate, seconds, place(), ahead),
      () => budget.hasProbe,
    );
  };
  const check = async (rate: number, known: Bracket): Promise<boolean> => {
    // Of the same name, so that its report can take the place of one that it surpasses.
    const runDir = known.held > 0 ? join(dir, 'probes', `above-${rate}`, basename(dir)) : dir;
    const ahead = (holds: boolean) => budget.ofConfirming(narrowed(known, rate, holds), wanted);
    const holds = await tried(
      () => attempt(rate, settings.CONFIRM, runDir, ahead),
      () => budget.hasConfirmation,
    );
    if (holds && runDir !== dir)
      for (const file of await readdir(runDir)) await rename(join(runDir, file), join(dir, file));
    return holds;
  };

  budget.begin();
  console.log(
    `search  about ${about(budget.ofSearch(NOTHING, wanted))}, at most ${about(settings.MINUTES * 60)} (MINUTES)`,
  );
  const probed = await search(wanted, probe, () => budget.hasProbe);
  const found = await confirm(probed, wanted, check, () => budget.hasConfirmation);
  const above = found.notHeld ?? probed.notHeld;
  const stage = lastNot === undefined ? undefined : gaveWay(lastHeld, lastNot);
  const result = {
    p99_limit_ms: settings.P99,
    rate: found.held > 0 ? found.held : null,
    // What only probes have said counts where it does not contradict a longer run.
    not_held: above !== undefined && above > found.held ? above : null,
    gave_way: stage ?? null,
  };
  const answer = sentence(result, rows, settings);
  if (probed.held > 0) {
    const list = { ...result, probes: rows };
    await writeFile(join(dir, 'capacity.json'), `${JSON.stringify(list, null, 2)}\n`);
    await addAnswer(dir, answerFigures(result, rows), answer);
  }
  console.log(`\n${answer}`);
  if (probed.held > 0) console.log(`report  ${shortPath(join(dir, 'index.html'))}`);
  return result.rate === null ? 99 : 0;
}

/** Puts the answer, which no single run knows, into the report of the confirming run. */
async function addAnswer(dir: string, figures: NonNullable<Run['figures']>, answer: string): Promise<void> {
  const run: Run = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8'));
  run.figures = [...(run.figures ?? []), ...figures];
  await writeFile(join(dir, 'run.json'), `${JSON.stringify(run)}\n`);
  await render(dir);
  await appendFile(join(dir, 'summary.md'), `\n${answer}\n`);
}

exitAfter(main());
