/** Runs all Node tests, the longest first. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const ROOT = join(import.meta.dirname, '../..');
const TESTS = ['{pipeline,reports,scenarios}/**', 'extensions/artillery-plugin-arrival/test'];
/** Tests of 30 s or more. At the end they would leave a core idle. */
const LONG = ['page', 'outages', 'faults', 'stack', 'pack', 'using', 'tutorial', 'ramp', 'run', 'browser'];

// Otherwise each test, and each process of its pipeline, compiles the same modules again.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, '.stack/compiled');

/** For a file, ms: some take 2 min on an idle machine. One that never ends would keep all others from being reported. */
const TIMEOUT_MS = 15 * 60_000;

const isLong = (file: string) => LONG.some((name) => file.endsWith(`/${name}.test.ts`));
const all = globSync(
  TESTS.map((folder) => `${folder}/*.test.ts`),
  { cwd: ROOT, exclude: ['**/node_modules'] },
).sort();
const files = [...all.filter(isLong), ...all.filter((file) => !isLong(file))].map((file) => join(ROOT, file));

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

run({ files, cwd: ROOT, concurrency: 2, timeout: TIMEOUT_MS, signal: stop.signal })
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(spec)
  .pipe(process.stdout);
