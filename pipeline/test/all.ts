/**
 * Runs all Node tests: those of the pipeline, which mostly wait, four at a time, then those with whole runs, two at a
 * time; the longest first.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const ROOT = join(import.meta.dirname, '../..');
/** Tests with whole runs: each loads most of a core. */
const RUNS = [
  'pipeline/{stack,deploy,setup}',
  '{reports,scenarios}/**',
  'extensions/artillery-plugin-arrival/test',
];
/** Tests of single processes against Redis and Mosquitto: they wait for leases and time-outs, at a sixth of a core each. */
const PARTS = ['pipeline/{common,queue,relay,ingest}'];
/** Tests of 30 s or more. At the end they would leave a core idle. */
const LONG = [
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
];

// Otherwise each test, and each process of its pipeline, compiles the same modules again.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, '.stack/compiled');

/** For a file, ms: some take 2 min on an idle machine. One that never ends would keep all others from being reported. */
const TIMEOUT_MS = 15 * 60_000;

const isLong = (file: string) => LONG.some((name) => file.endsWith(`/${name}.test.ts`));
function filesOf(folders: readonly string[]): string[] {
  const patterns = folders.map((folder) => `${folder}/*.test.ts`);
  const all = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules'] }).sort();
  return [...all.filter(isLong), ...all.filter((file) => !isLong(file))].map((file) => join(ROOT, file));
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

for (const [folders, concurrency] of [
  [PARTS, 4],
  [RUNS, 2],
] as const) {
  const tests = run({
    files: filesOf(folders),
    cwd: ROOT,
    concurrency,
    timeout: TIMEOUT_MS,
    signal: stop.signal,
  });
  tests.on('test:fail', () => {
    process.exitCode = 1;
  });
  for await (const text of tests.compose(spec)) process.stdout.write(text);
}
