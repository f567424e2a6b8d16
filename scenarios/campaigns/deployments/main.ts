/** `npm run deployments`: fuzz.js on three deployments of the pipeline, side by side. */
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { RunConfig, readConfig } from '../../../pipeline/common/config.ts';
import { Child } from '../../../pipeline/stack/child.ts';
import { explain } from '../../../pipeline/stack/explain.ts';
import { onInterrupt } from '../../../pipeline/stack/interrupt.ts';
import { requireNginx } from '../../../pipeline/stack/nginx.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { COMPARISONS, moment, newDirectory } from '../../../reports/directory.ts';
import { Lab } from '../../lab/lab.ts';
import { NamespacePipeline } from '../../lab/namespace.ts';
import { scripts } from '../../lib/declarations.js';
import { cameToItsEnd, checkScript, onlyVariables, variablesOf } from '../../run/k6.ts';
import { ADDRESSES } from '../../run/run.ts';
import { checkVariables, linesOf } from '../../run/usage.ts';
import { comparePage } from '../page.ts';
import { type Measured, table } from './table.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCRIPT = 'scenarios/fuzz.js';

const HELP = `Runs scenarios/fuzz.js on three deployments of the pipeline, and compares them.

  npm run deployments [-- -e NAME=value …]

  bare         on this host, generator and pipeline on the loopback
  nginx        the same with nginx before two ingests (TOPOLOGY=cluster)
  namespace    the pipeline in a network namespace of its own, joined by veth: what a container has of a network (Linux, root).
               Where that can't be had it is left out, and the reason told.

Leaves a run in reports/runs/ for each and a page in reports/comparisons/ that compares them. Exit code: 0 when every run passed and all three
were measured, 99 when not, 1 when it broke off.

Settings, by -e or in the environment
${linesOf(scripts.fuzz())}`;

let stopped = false;
let signalled: ((signal: NodeJS.Signals) => void) | undefined;

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(HELP);
    return 0;
  }
  onlyVariables(args);
  checkVariables(SCRIPT, args, {
    name: 'npm run deployments',
    chooses: ['RUN_DIR', 'RUN_ID'],
  });
  Object.assign(process.env, variablesOf(args));
  const config = readConfig(RunConfig);
  for (const name of ['INGEST_URL', 'REDIS_URL', 'MQTT_URL', 'TOPOLOGY'] as const)
    if (config[name] !== undefined)
      throw new Error(`${name} is set, and each deployment is a pipeline that is started: leave it out`);
  await checkScript(SCRIPT, [], { ...process.env, ...ADDRESSES });
  await requireNginx();
  onInterrupt(
    (signal) => {
      stopped = true;
      signalled?.(signal);
    },
    () => process.exit(1),
  );

  const dir = join(resolve(config.STACK_DIR), 'deployments');
  const ports = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0' };
  const all: Measured[] = [];
  for (const [name, env] of [
    ['bare', { TOPOLOGY: 'single', NETWORK: 'loopback' }],
    ['nginx', { TOPOLOGY: 'cluster', NETWORK: 'loopback' }],
  ] as const) {
    all.push(await measure(name, { ...ports, ...env, STACK_DIR: dir }));
    if (stopped) return 1;
  }
  const refusal = await inNamespace(all, dir, ports);
  if (stopped) return 1;
  console.log(`\n${table(all)}\n`);
  if (refusal !== undefined) console.log(`namespace   not measured: ${refusal}`);
  const page = join(newDirectory(join(COMPARISONS, `deployments-${moment()}`)), 'index.html');
  await comparePage(
    page,
    all.map(({ dir }) => dir),
    '--each',
  );
  return refusal === undefined && all.every(({ run }) => run.verdict.result === 'pass') ? 0 : 99;
}

/** @returns why it was not measured */
async function inNamespace(
  all: Measured[],
  dir: string,
  ports: Record<string, string>,
): Promise<string | undefined> {
  const refusal = Lab.refusal();
  if (refusal !== null) return refusal;
  let pipeline: NamespacePipeline;
  try {
    pipeline = await NamespacePipeline.start(dir, { ...ports, TOPOLOGY: 'single' });
  } catch (error) {
    return (error as Error).message;
  }
  try {
    const env = { ...ports, TOPOLOGY: 'single', NETWORK: 'namespace', STACK_DIR: pipeline.dir };
    if (!stopped) all.push(await measure('namespace', env));
  } finally {
    await pipeline.stop();
  }
  return undefined;
}

/** Runs the script, with what it says, and reads what it has left. */
async function measure(name: string, env: Record<string, string>): Promise<Measured> {
  console.log(`deployment  ${name}`);
  const run = new ScriptRun(env);
  signalled = (signal) => run.signal(signal);
  const { code, signal } = await run.ended;
  const { report } = run;
  if (stopped || report === undefined || !cameToItsEnd({ code, signal }))
    throw new Error(`${name}: the run ended with ${signal ?? code}`);
  const dir = dirname(resolve(ROOT, report));
  return { name, dir, run: JSON.parse(await readFile(join(dir, 'run.json'), 'utf8')) as Run };
}

/** The script against a pipeline that it starts, or finds. */
class ScriptRun extends Child {
  /** The path of its report, which it tells last. */
  report: string | undefined;

  constructor(env: Record<string, string>) {
    super([process.execPath, join(ROOT, 'scenarios/run/run.ts'), SCRIPT, '-q'], {
      cwd: ROOT,
      env: { ...process.env, npm_lifecycle_event: undefined, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface(this.child.stdout as Readable).on('line', (line) => {
      this.report = /^ *report +(\S+)$/.exec(line)?.[1] ?? this.report;
      console.log(line);
    });
  }
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    if (!stopped) explain(error);
    process.exit(1);
  },
);
