/** `npm run compare`: k6 and Artillery in turn, with the same profile, against one pipeline; wrk as a third. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { commandOf } from '../../pipeline/command.ts';
import { ConfigError, RunConfig, readConfig } from '../../pipeline/config.ts';
import { K6Run } from '../../pipeline/k6.ts';
import {
  against,
  type Generator,
  Interrupted,
  runEnvironment,
  type SettledRun,
  settle,
} from '../../pipeline/run.ts';
import { explain } from '../../pipeline/stack/explain.ts';
import { trust } from '../../pipeline/trust.ts';
import { readRun } from '../../reports/comparison/recording.ts';
import type { Run } from '../../reports/run.ts';
import { ArtilleryRun } from './artillery.ts';
import { installed } from './install.ts';
import { findLimit, type Limit } from './limits.ts';
import { readProfile } from './options.ts';
import { findPipeline } from './pipeline.ts';
import { tableOf } from './tools.ts';
import { hasWrk, type WrkFigures, WrkRun } from './wrk.ts';

const ROOT = join(import.meta.dirname, '../..');
const RAMP = join(ROOT, 'scenarios/ramp.artillery.yml');
const TOOLS = ['k6', 'artillery'] as const;
type Tool = (typeof TOOLS)[number];
/** s, of the measured phase of a run that asks whether a tool keeps up */
const PROBE_SECONDS = 5;
/** Connections of each tool: k6's senders, Artillery's pool, wrk's. */
const CONNECTIONS = 64;

const HELP = `k6 and Artillery in turn, with the same load, against one pipeline; a table, and one page that compares them.

  npm run compare [-- --rate n] [--duration s] [--repeat n] [--most n]

  --rate      requests a second (200); 1 to 5000
  --duration  of the measured phase, s (20); 1 to 3600
  --repeat    how often each tool runs, in turn (2); 1 to 20
  --most      highest rate at which it is looked for where each tool becomes the bottleneck (3200); 0: it is not looked for, else
              from --rate to 20000

Where each becomes the bottleneck is looked for in runs of ${PROBE_SECONDS} s, at most 24 for each tool, mostly about 8. wrk, where it is installed, posts
to the ingest at the end, as fast as it is answered. Artillery is installed on first use, 470 MB. The environment is that of npm run ramp.
Exit code: 0 when every run has left a report whose account balances, 1 otherwise, 2 when the command is wrong.`;

class UsageError extends Error {}

function options() {
  let values: Record<string, string | boolean | undefined>;
  try {
    const text = { type: 'string' } as const;
    ({ values } = parseArgs({
      options: {
        rate: text,
        duration: text,
        repeat: text,
        most: text,
        help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n')[0]);
  }
  const count = (name: string, fallback: number, most: number, least = 1) => {
    const value = Number(values[name] ?? fallback);
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new UsageError(`--${name} is ${values[name]}; allowed: whole numbers from ${least} to ${most}`);
    }
    return value;
  };
  const rate = count('rate', 200, 5000);
  const most = values.most === '0' ? 0 : count('most', Math.max(3200, rate), 20_000, rate);
  return {
    help: values.help === true,
    rate,
    duration: count('duration', 20, 3600),
    repeat: count('repeat', 2, 20),
    most,
  };
}

/** Names are those that scenarios/ramp.js may override. */
function profileOf(rate: number, duration: number, warmUp: number) {
  const { flows } = readProfile(join(ROOT, 'scenarios/profiles/ramp.yml'));
  const phases = [
    { name: 'warm-up', duration: warmUp, arrivalRate: rate, measured: false },
    { name: 'ramp', duration: 1, arrivalRate: rate, measured: false },
    { name: 'sustained', duration, arrivalRate: rate, measured: true },
  ];
  return { phases, flows };
}

async function main(): Promise<number> {
  const { help, rate, duration, repeat, most } = options();
  if (help) {
    console.log(HELP);
    return 0;
  }
  const config = await settle(readConfig(RunConfig));
  if (config.INGEST_URL !== undefined && (config.MQTT_URL === undefined || config.REDIS_URL === undefined)) {
    throw new ConfigError('INGEST_URL is set; allowed: with MQTT_URL and REDIS_URL, which both tools need');
  }
  trust(config.TLS_CA);
  const bin = await installed();
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const dir = join(ROOT, 'reports/comparisons', `tools-${rate}-${stamp}`);
  await mkdir(dir, { recursive: true });
  return against(config, async (launch, stop) => {
    /** Runs a tool at a rate, and returns what it has left. */
    const one = async (
      tool: Tool,
      load: { rate: number; duration: number; warmUp: number },
      runDir: string,
    ) => {
      const planned = profileOf(load.rate, load.duration, load.warmUp);
      const profile = join(dir, `profile-${load.rate}.yml`);
      await writeFile(profile, stringify(planned));
      await launch(() => start(tool, bin, planned.phases, profile, environment(config, runDir)));
      const run = existsSync(join(runDir, 'run.json')) ? await readRun(runDir) : undefined;
      if (run !== undefined && run.verdict.result !== 'incomplete') return run;
      if (stop.aborted) throw new Interrupted();
      throw new Error(`${tool} left no whole report at ${load.rate}/s, so there is nothing to compare`);
    };
    const dirs: string[] = [];
    const runs: Run[] = [];
    for (let i = 0; i < 2 * repeat; i++) {
      const tool = TOOLS[i % 2] as Tool;
      const name = `compare-${tool}-${config.TOPOLOGY}-${config.NETWORK}-${stamp}-${i + 1}`;
      dirs.push(join(ROOT, 'reports/runs', name));
      console.log(`run    ${i + 1} of ${2 * repeat}, ${tool}, ${rate}/s for ${duration} s`);
      runs.push(await one(tool, { rate, duration, warmUp: 10 }, dirs[i] as string));
    }
    const limits: Limit[] = [];
    for (const tool of most === 0 ? [] : TOOLS) {
      let probes = 0;
      const probe = async (at: number) => {
        console.log(`probe  ${tool}, ${at}/s for ${PROBE_SECONDS} s`);
        const runDir = join(dir, 'probes', `${tool}-${at}-${++probes}`);
        return one(tool, { rate: at, duration: PROBE_SECONDS, warmUp: 3 }, runDir);
      };
      limits.push(await findLimit(tool, rate, most, probe));
    }
    const wrk = hasWrk() ? await post(launch, Math.min(duration, 10)) : undefined;
    return tell(runs, dirs, dir, limits, wrk);
  });
}

/** What wrk finds; last, since what it leaves in the queue would be in everybody's way. */
async function post(
  launch: (start: () => WrkRun) => Promise<unknown>,
  seconds: number,
): Promise<WrkFigures | undefined> {
  const pipeline = await findPipeline(process.env);
  console.log(`run    wrk, as fast as it is answered, for ${seconds} s`);
  let run: WrkRun | undefined;
  await launch(() => {
    run = new WrkRun(pipeline, CONNECTIONS, seconds);
    return run;
  });
  return run?.figures;
}

function start(
  tool: Tool,
  bin: string,
  phases: ReturnType<typeof profileOf>['phases'],
  profile: string,
  env: NodeJS.ProcessEnv,
): Generator {
  if (tool === 'k6') {
    const own = { PROFILE: profile, P99: '60000', SENDERS: String(CONNECTIONS) };
    return new K6Run(join(ROOT, 'scenarios/ramp.js'), [], { ...env, ...own }, true);
  }
  const own = phases.map(({ measured: _, ...phase }) => phase);
  const overrides = {
    config: { phases: own, http: { pool: CONNECTIONS }, plugins: { arrival: { profile } } },
  };
  return new ArtilleryRun(bin, ['run', '--quiet', '--overrides', JSON.stringify(overrides), RAMP], env);
}

function environment(config: SettledRun, runDir: string): NodeJS.ProcessEnv {
  return runEnvironment(config, runDir, commandOf('', process.argv.slice(2), 'compare'));
}

/** The table here and beside the page, and the page. */
async function tell(
  runs: Run[],
  dirs: string[],
  dir: string,
  limits: Limit[],
  wrk: WrkFigures | undefined,
): Promise<number> {
  const table = tableOf(runs, limits, wrk);
  console.log(`\n${table}\n`);
  await writeFile(join(dir, 'tools.txt'), `${table}\n`);
  const page = join(dir, 'index.html');
  const report = spawn(process.execPath, [join(ROOT, 'reports/main.ts'), 'compare', ...dirs, '--out', page], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve, reject) => {
    report.once('error', reject);
    report.once('exit', resolve);
  });
  if (code !== 0) throw new Error('the page could not be written');
  console.log(`report  ${relative('', page)}`);
  return runs.every(({ account }) => account.balanced) ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    explain(error);
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
