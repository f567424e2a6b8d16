/**
 * Runs the Node tests of a tier:
 *
 *     node pipeline/test/all.ts parts | runs | e2e
 *
 * parts  of single processes against Redis and Mosquitto: they wait for leases and time-outs, four files at a time
 * runs   with whole runs: each loads most of a core, two files at a time
 * e2e    what takes minutes, `*.e2e.ts`: campaigns, other people's pipelines, Artillery, OpenTelemetry
 */
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const ROOT = join(import.meta.dirname, '../..');

const TIERS: Record<string, { files: string[]; atOnce: number }> = {
  parts: { files: ['pipeline/{common,shared,queue,relay,ingest}/*.test.ts'], atOnce: 4 },
  runs: {
    files: [
      'pipeline/{stack,deploy,setup,test/faults}/*.test.ts',
      '{reports,scenarios}/**/*.test.ts',
      'extensions/artillery-plugin-arrival/test/*.test.ts',
    ],
    atOnce: 2,
  },
  e2e: { files: ['{pipeline,reports,scenarios,extensions}/**/*.e2e.ts'], atOnce: 2 },
};
/** It needs a cluster, and would use the one that kubectl finds: `npm run test:cluster`. */
const CLUSTER = 'pipeline/deploy/cluster.e2e.ts';

/** Files of 20 s or more. They begin first: at the end they would leave a core idle. */
const LONG = new Set([
  'contract',
  'unreachable',
  'outages',
  'outage-log',
  'two-pipelines',
  'page',
  'elsewhere',
  'faults',
  'stack',
  'pack',
  'pipelines',
  'using',
  'tutorial',
  'ramp',
  'run',
  'browser',
  'killed',
  'start',
  'failures',
  'artillery',
  'without-a-clone',
]);

/** The longest time for a file, ms: some take minutes on an idle machine. Without it, one that hangs would keep all others from being reported. */
const TIMEOUT_MS = 15 * 60_000;

// Otherwise each test, and each process of its pipeline, compiles the same modules again.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, '.stack/compiled');

const [name = '', ...others] = process.argv.slice(2);
const tier = TIERS[name];
if (tier === undefined || others.length > 0) {
  console.error(`${name || 'no tier'} is not a tier of tests; allowed: ${Object.keys(TIERS).join(', ')}`);
  process.exit(2);
}

const isLong = (file: string) => LONG.has(basename(file).replace(/\..*/, ''));
const files = globSync(tier.files, { cwd: ROOT, exclude: ['**/node_modules', CLUSTER] }).sort();

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

const tests = run({
  files: [...files.filter(isLong), ...files.filter((file) => !isLong(file))].map((file) => join(ROOT, file)),
  cwd: ROOT,
  concurrency: tier.atOnce,
  timeout: TIMEOUT_MS,
  signal: stop.signal,
});
tests.on('test:fail', () => {
  process.exitCode = 1;
});
for await (const text of tests.compose(spec)) process.stdout.write(text);
