import { appendFile, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { commandOf } from '../../pipeline/command.ts';
import { describe, RunConfig, readConfig } from '../../pipeline/config.ts';
import { checkScript, K6Run, onlyEnvironmentArgs, variablesOf } from '../../pipeline/k6.ts';
import { ADDRESSES, openPipeline, runEnvironment, runName, settle } from '../../pipeline/run.ts';
import { explain } from '../../pipeline/stack/explain.ts';
import { shortPath } from '../../pipeline/stack/file.ts';
import { onInterrupt } from '../../pipeline/stack/interrupt.ts';
import type { Stack } from '../../pipeline/stack/stack.ts';
import { ms } from '../../reports/page/format.ts';
import { renderReport } from '../../reports/render.ts';
import type { Run } from '../../reports/run.ts';
import { answerFigures, type Row, sentence } from './answer.ts';
import { gaveWay, judge } from './judge.ts';
import { confirm, search } from './search.ts';

const ROOT = join(import.meta.dirname, '../..');
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
  CONFIRM: number(60, 1, 86_400, 'seconds of a run that confirms a rate'),
  PROBES: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'most probes, repetitions apart',
  }),
});

const HELP = `Searches for the highest rate at which p99 of the arrival stays below a limit while the backlog is flat.

  npm run capacity [-- -e NAME=value …]

It doubles the rate until one is not held, halves the span in between, and confirms both ends with longer runs: the rate has to be held, and
the next one up must not be; else it goes on from there. A rate that is not held is tried once more before that counts. The report is
that of the confirming run; capacity.json beside it lists all runs.
The exit code is 0 when a rate was confirmed, 99 when none was.

Settings, by -e or in the environment
${describe(CapacityConfig)}
`;

/** Rates that are tried with longer runs, at most: two where the search was right. */
const CONFIRMATIONS = 8;

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(HELP);
    return 0;
  }
  const variables = onlyEnvironmentArgs(args);
  const settings = readConfig(CapacityConfig, variablesOf(args));
  if (settings.LOWEST > settings.HIGHEST)
    throw new Error(`LOWEST is ${settings.LOWEST}, above HIGHEST, ${settings.HIGHEST}`);

  const config = await settle(readConfig(RunConfig));
  const dir = join(ROOT, 'reports/runs', runName(SCRIPT, config, new Date()));
  const names = Object.keys(CapacityConfig.properties);
  const command = commandOf(SCRIPT, args, process.env.npm_lifecycle_event, { env: process.env, names });
  const env = (runDir: string) => runEnvironment(config, runDir, command);
  await checkScript(SCRIPT, variables, { ...ADDRESSES, ...env(dir) });

  const stop = new AbortController();
  let k6: K6Run | undefined;
  let stack: Stack | undefined;
  onInterrupt(
    (signal) => {
      stop.abort();
      k6?.signal(signal);
    },
    () => {
      k6?.signal('SIGKILL');
      stack?.kill();
      process.exit(1);
    },
  );

  const rows: Row[] = [];
  let lastHeld: Run | undefined;
  let lastNot: Run | undefined;
  /** Runs one rate, and tells in a line what came of it. */
  const attempt = async (rate: number, seconds: number, runDir: string): Promise<boolean> => {
    stop.signal.throwIfAborted();
    const own = ['-e', `RATE=${rate}`, '-e', `DURATION=${seconds}`];
    k6 = new K6Run(SCRIPT, [...variables, ...own], env(runDir), true);
    const { code, signal } = await k6.ended;
    stop.signal.throwIfAborted();
    if (signal !== null || (code !== 0 && code !== 99))
      throw new Error(`k6 ended with ${signal ?? code} at ${rate}/s`);
    const run = JSON.parse(await readFile(join(runDir, 'run.json'), 'utf8')) as Run;
    const { holds, reasons } = judge(run);
    if (holds) lastHeld = run;
    else lastNot = run;
    rows.push({ rate, seconds, holds, p99_ms: run.latency.arrival.p99, reasons });
    const p99 = `p99 ${ms(run.latency.arrival.p99)} ms`;
    console.log(
      `${String(rate).padStart(8)}/s  ${seconds} s  ${p99.padEnd(14)}  ${holds ? 'held' : `not held: ${reasons.join(', ')}`}`,
    );
    return holds;
  };
  const probe = async (rate: number): Promise<boolean> => {
    const place = () => join(dir, 'probes', `${rows.length + 1}-${rate}`);
    return (await attempt(rate, settings.PROBE, place())) || (await attempt(rate, settings.PROBE, place()));
  };

  stack = await openPipeline(config);
  try {
    const bracket = await search(
      {
        start: settings.START,
        lowest: settings.LOWEST,
        highest: settings.HIGHEST,
        precision: settings.PRECISION,
        most: settings.PROBES,
      },
      probe,
    );
    // What holds the machine up for a moment can spoil a run; nothing makes an overloaded one hold.
    const twice = async (rate: number, runDir: string) =>
      (await attempt(rate, settings.CONFIRM, runDir)) || (await attempt(rate, settings.CONFIRM, runDir));
    const { held, notHeld } = await confirm(
      bracket,
      {
        lowest: settings.LOWEST,
        highest: settings.HIGHEST,
        precision: settings.PRECISION,
        most: CONFIRMATIONS,
      },
      (rate) => twice(rate, dir),
      async (rate) => {
        // Of the same name, so that its report can take the place of the one that it surpasses.
        const runDir = join(dir, 'probes', `above-${rate}`, basename(dir));
        if (!(await twice(rate, runDir))) return true;
        for (const file of await readdir(runDir)) await rename(join(runDir, file), join(dir, file));
        return false;
      },
    );
    const confirmed = held > 0;
    const stage = lastNot === undefined ? undefined : gaveWay(lastHeld, lastNot);
    const result = {
      p99_limit_ms: settings.P99,
      rate: confirmed ? held : null,
      not_held: notHeld ?? null,
      gave_way: stage ?? null,
    };
    const answer = sentence(result, rows, settings.CONFIRM, settings.HIGHEST);
    if (bracket.held > 0) {
      const list = { ...result, probes: rows };
      await writeFile(join(dir, 'capacity.json'), `${JSON.stringify(list, null, 2)}\n`);
      await addAnswer(dir, answerFigures(result, rows), answer);
    }
    console.log(`\n${answer}`);
    if (bracket.held > 0) console.log(`report  ${shortPath(join(dir, 'index.html'))}`);
    return confirmed ? 0 : 99;
  } catch (error) {
    if (stop.signal.aborted) return 1;
    throw error;
  } finally {
    await stack?.stop(0);
  }
}

/** Puts the answer, which no single run knows, into the report of the confirming run. */
async function addAnswer(dir: string, figures: NonNullable<Run['figures']>, answer: string): Promise<void> {
  const run: Run = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8'));
  run.figures = [...(run.figures ?? []), ...figures];
  const template = await readFile(join(ROOT, 'reports/dist/index.html'), 'utf8');
  await writeFile(join(dir, 'run.json'), `${JSON.stringify(run)}\n`);
  await writeFile(join(dir, 'index.html'), renderReport(run, template));
  await appendFile(join(dir, 'summary.md'), `\n${answer}\n`);
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    explain(error);
    process.exit(1);
  },
);
