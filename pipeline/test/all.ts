/**
 * Runs all Node tests, the longest first: `node pipeline/test/all.ts [<npm script> …]`. The scripts run
 * beside them, one after the other, while tests wait. Their output is printed at the end.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { execa } from 'execa';
import { endGroup, leash } from '../stack/leash.ts';
import { atItsPriority, setSession } from '../stack/priority.ts';

const ROOT = join(import.meta.dirname, '../..');
const TESTS = ['{pipeline,reports,scenarios}/**', 'extensions/artillery-plugin-arrival/test'];
/** Tests of 30 s or more. At the end they would leave a core idle. */
const LONG = ['page', 'outages', 'faults', 'stack', 'pack', 'using', 'tutorial', 'ramp', 'run', 'browser'];
const BEHIND = new Map([['beside', 10]]);

// Otherwise each test, and each process of its pipeline, compiles the same modules again.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, '.stack/compiled');

const isLong = (file: string) => LONG.some((name) => file.endsWith(`/${name}.test.ts`));
const all = globSync(
  TESTS.map((folder) => `${folder}/*.test.ts`),
  { cwd: ROOT },
).sort();
const files = [...all.filter(isLong), ...all.filter((file) => !isLong(file))].map((file) => join(ROOT, file));

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

const scripts = process.argv.slice(2);
if (scripts.length > 0) {
  const command = scripts.map((name) => `npm run -s ${name}`).join(' && ');
  const [nice = 'sh', ...args] = [...atItsPriority(BEHIND, 'beside'), 'sh', '-c', command];
  const options = { cwd: ROOT, all: true, reject: false, detached: true } as const;
  const beside = execa(nice, args, options);
  const pid = beside.pid as number;
  leash.hold(pid);
  stop.signal.addEventListener('abort', () => endGroup(pid));
  await setSession(BEHIND, 'beside', pid);
  void beside.then(({ all, exitCode }) => {
    leash.release(pid);
    console.log(`${all}\n${scripts.join(', ')}: ${exitCode === 0 ? 'passed' : 'FAILED'}`);
    if (exitCode !== 0) process.exitCode = 1;
  });
}

run({ files, cwd: ROOT, concurrency: 2, signal: stop.signal })
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(spec)
  .pipe(process.stdout);
