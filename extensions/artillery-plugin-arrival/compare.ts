/** `npm run compare`: k6 and Artillery in turn, with the same profile, against one pipeline. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { ConfigError, RunConfig, readConfig } from '../../pipeline/config.ts';
import { K6Run } from '../../pipeline/k6.ts';
import { openPipeline, runEnvironment, type SettledRun, settle } from '../../pipeline/run.ts';
import { explain } from '../../pipeline/stack/explain.ts';
import { onInterrupt } from '../../pipeline/stack/interrupt.ts';
import type { Stack } from '../../pipeline/stack/stack.ts';
import { trust } from '../../pipeline/trust.ts';
import { readRun } from '../../reports/comparison/recording.ts';
import type { Run } from '../../reports/run.ts';
import { ArtilleryRun } from './artillery.ts';
import { installed } from './install.ts';
import { readProfile } from './options.ts';
import { tableOf } from './tools.ts';

const ROOT = join(import.meta.dirname, '../..');
const TOOLS = ['k6', 'artillery'] as const;

const HELP = `k6 and Artillery in turn, with the same load, against one pipeline; a table, and one page that compares them.

  npm run compare [-- --rate n] [--duration s] [--repeat n]

  --rate      requests a second (200); 1 to 5000
  --duration  of the measured phase, s (20); 1 to 3600
  --repeat    how often each tool runs, in turn (2); 1 to 20

Artillery is installed on first use, 470 MB. The environment is that of npm run ramp.
Exit code: 0 when every run has left a report whose account balances, 1 otherwise, 2 when the command is wrong.`;

class UsageError extends Error {}

function options() {
  let values: Record<string, string | boolean | undefined>;
  try {
    const text = { type: 'string' } as const;
    ({ values } = parseArgs({
      options: { rate: text, duration: text, repeat: text, help: { type: 'boolean', short: 'h' } },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n')[0]);
  }
  const count = (name: string, fallback: number, most: number) => {
    const value = Number(values[name] ?? fallback);
    if (!Number.isInteger(value) || value < 1 || value > most) {
      throw new UsageError(`--${name} is ${values[name]}; allowed: whole numbers from 1 to ${most}`);
    }
    return value;
  };
  return {
    help: values.help === true,
    rate: count('rate', 200, 5000),
    duration: count('duration', 20, 3600),
    repeat: count('repeat', 2, 20),
  };
}

/** Names are those that scenarios/ramp.js may override. */
function profileOf(rate: number, duration: number) {
  const { flows } = readProfile(join(ROOT, 'scenarios/profiles/ramp.yml'));
  const phases = [
    { name: 'warm-up', duration: 10, arrivalRate: rate, measured: false },
    { name: 'ramp', duration: 1, arrivalRate: rate, measured: false },
    { name: 'sustained', duration, arrivalRate: rate, measured: true },
  ];
  return { phases, flows };
}

type OneRun = K6Run | ArtilleryRun;

async function main(): Promise<number> {
  const { help, rate, duration, repeat } = options();
  if (help) {
    console.log(HELP);
    return 0;
  }
  const config = await settle(readConfig(RunConfig));
  if (config.INGEST_URL !== undefined && (config.MQTT_URL === undefined || config.REDIS_URL === undefined)) {
    throw new ConfigError('INGEST_URL is set; allowed: with MQTT_URL and REDIS_URL, which both tools need');
  }
  trust(config.TLS_CA);
  let interrupted = false;
  let current: OneRun | undefined;
  let stack: Stack | undefined;
  onInterrupt(
    (signal) => {
      interrupted = true;
      current?.signal(signal);
    },
    () => {
      current?.signal('SIGKILL');
      stack?.kill();
      process.exit(1);
    },
  );
  const bin = await installed();
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const dir = join(ROOT, 'reports/comparisons', `tools-${rate}-${stamp}`);
  const profile = join(dir, 'profile.yml');
  const planned = profileOf(rate, duration);
  await mkdir(dir, { recursive: true });
  await writeFile(profile, stringify(planned));
  if (interrupted) return 1;
  stack = await openPipeline(config);
  const dirs: string[] = [];
  try {
    for (let i = 0; i < 2 * repeat && !interrupted; i++) {
      const tool = TOOLS[i % 2] as (typeof TOOLS)[number];
      const runDir = join(
        ROOT,
        'reports/runs',
        `compare-${tool}-${config.TOPOLOGY}-${config.NETWORK}-${stamp}-${i + 1}`,
      );
      console.log(`run    ${i + 1} of ${2 * repeat}, ${tool}, ${rate}/s for ${duration} s`);
      const env = environment(config, runDir);
      current =
        tool === 'k6'
          ? new K6Run(join(ROOT, 'scenarios/ramp.js'), [], { ...env, PROFILE: profile, P99: '60000' }, true)
          : new ArtilleryRun(
              bin,
              ['run', '--quiet', '--overrides', overrides(planned.phases, profile), RAMP],
              env,
            );
      await current.ended;
      current = undefined;
      if (!existsSync(join(runDir, 'run.json')) && !interrupted) {
        throw new Error(`${tool} left no report, so there is nothing to compare`);
      }
      dirs.push(runDir);
    }
  } finally {
    await stack?.stop(0);
  }
  if (interrupted) {
    console.error('compare: stopped before all runs were over; no comparison was written');
    return 130;
  }
  return tell(dirs, dir);
}

const RAMP = join(ROOT, 'scenarios/ramp.artillery.yml');

function environment(config: SettledRun, runDir: string): NodeJS.ProcessEnv {
  return runEnvironment(config, runDir, `npm run compare -- ${process.argv.slice(2).join(' ')}`.trim());
}

function overrides(phases: ReturnType<typeof profileOf>['phases'], profile: string): string {
  const own = phases.map(({ measured: _, ...phase }) => phase);
  return JSON.stringify({ config: { phases: own, plugins: { arrival: { profile } } } });
}

/** The table here and beside the page, and the page. */
async function tell(dirs: string[], dir: string): Promise<number> {
  const runs: Run[] = await Promise.all(dirs.map(readRun));
  const table = tableOf(runs);
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
