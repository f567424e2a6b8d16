/** What a k6 that was killed leaves: each file, each command and the list say the same, and until when. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import { isAlive } from '../../pipeline/stack/file.ts';
import { eventually, remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Run } from '../../reports/contract/run.ts';
import { Catalogue } from '../../reports/history/catalogue.ts';
import { shownRun } from '../../reports/render.ts';
import { newRunId, segmentsOf } from '../run/instances.ts';
import { k6, node, Pipeline, place, ROOT, readRun } from './harness.ts';

const QUIET = ['run', '-q', '--log-format', 'raw', '--address', ''];
const LOAD = ['RATE=100', 'DURATION=60'].flatMap((setting) => ['-e', setting]);

const linesOf = async (dir: string) =>
  (await readFile(join(dir, 'timeline.ndjson'), 'utf8').catch(() => '')).split('\n').slice(0, -1);
const arrival = (...args: string[]) => execa(join(ROOT, 'k6'), ['x', 'arrival', ...args], { reject: false });

/** Reads what a killed run left: the lines of its timeline, and how many of them its latest report includes. */
interface Left {
  lines: string[];
  known: number;
}

const latestOf = (dir: string): Promise<number> =>
  readFile(join(dir, 'latest.json'), 'utf8').then(
    (text) => JSON.parse(text).seconds,
    () => 0, // it stands from one whole report to the next
  );

/** Kills a run when its latest report includes so many seconds. */
async function killAt(pid: number, dir: string, seconds: number): Promise<Left> {
  await eventually(async () => (await latestOf(dir)) >= seconds, `${seconds} seconds`, 60_000);
  process.kill(pid, 'SIGKILL');
  await eventually(() => !isAlive(pid), 'its end');
  const { timeline } = await readRun(dir);
  return { lines: await linesOf(dir), known: Math.max(await latestOf(dir), timeline.length) };
}

/** The report has the seconds that were known, and their messages. */
function assertKnows(run: Run, { lines, known }: Left): void {
  assert.equal(run.timeline.length, known);
  const sent = lines.slice(0, known).map((line) => JSON.parse(line).sent as number);
  assert.ok(run.account.scheduled >= sent.reduce((a, b) => a + b, 0), JSON.stringify(run.account));
  assert.equal(run.verdict.result, 'incomplete');
  assert.equal(run.run.ended, null);
}

async function assertAgree(dir: string): Promise<void> {
  const run = await readRun(dir);
  const [reason = ''] = run.verdict.reasons;
  const summary = JSON.parse(await readFile(join(dir, 'summary.json'), 'utf8'));
  assert.deepEqual([summary.account, summary.verdict.reasons], [run.account, run.verdict.reasons]);
  const page = await readFile(join(dir, 'index.html'), 'utf8');
  const shown = shownRun(page);
  assert.deepEqual([shown.account, shown.timeline.length], [run.account, run.timeline.length]);
  // The rules of a merged run, which these two list, are those of its instances, with their words.
  for (const name of ['summary.md', 'index.html', ...(run.generators ? [] : ['junit.xml'])])
    assert.ok((await readFile(join(dir, name), 'utf8')).includes(reason), name);
  const entry = await new Catalogue(join(dir, '..')).find(basename(dir));
  assert.equal(entry?.reason, reason);
  assert.deepEqual(entry?.account, {
    scheduled: run.account.scheduled,
    arrived: run.account.arrived,
  });
  const { stdout, exitCode } = await arrival('check', dir);
  assert.equal(exitCode, 2, 'no limit is broken, and nothing was decided');
  assert.ok(run.generators !== undefined || stdout.includes(reason), stdout);
  assert.deepEqual(await readRun(dir), run, 'reading changes nothing more');
}

describe('k6 is killed', () => {
  let pipeline: Pipeline;
  let dir: string;
  before(async () => {
    [pipeline, dir] = await Promise.all([Pipeline.start(), temporaryDirectory()]);
  });
  after(async () => {
    await pipeline.stop();
    await remove(dir);
  });
  const start = (name: string, flags: string[] = [], env: NodeJS.ProcessEnv = {}) =>
    k6([...QUIET, ...LOAD, ...flags, 'scenarios/smoke.js'], {
      ...pipeline.env,
      ...env,
      RUN_DIR: join(dir, name),
    });

  // Regression: the report was that of the last checkpoint, up to 5 s older than the timeline beside it.
  for (const [seconds, reader] of [
    [1, 'check'],
    [7, 'annotate'],
    [12, 'recover'],
  ] as const)
    test(`after ${seconds} s: ${reader} finds what was written`, async () => {
      const running = start(`killed-${seconds}`);
      const runDir = join(dir, `killed-${seconds}`);
      const left = await killAt(Number(running.pid), runDir, seconds);
      await running;
      if (reader === 'check') await arrival('check', runDir);
      else if (reader === 'recover') await arrival('recover', runDir);
      else {
        const figures = join(dir, 'figures.json');
        await writeFile(figures, '{"figures":[{"name":"a","value":1,"unit":""}]}');
        const { exitCode, all } = await execa(
          join(ROOT, 'k6'),
          ['x', 'arrival', 'annotate', runDir, '--figures', figures],
          { reject: false, all: true },
        );
        assert.equal(exitCode, 0, all);
      }
      assertKnows(await readRun(runDir), left);
      await assertAgree(runDir);
    });

  test('one of two instances: the merged run has what it had written', async () => {
    const id = newRunId();
    const running = segmentsOf(2).map((segment) => start('two', segment, { RUN_ID: id }));
    const part = join(dir, 'two/generator-2');
    const left = await killAt(Number(running[1]?.pid), part, 7);
    running[0]?.kill('SIGINT');
    await Promise.all(running);
    const { all } = await node(['reports/main.ts', 'merge', join(dir, 'two')], pipeline.env);
    assertKnows(await readRun(part), left);
    await assertAgree(part);
    const whole = await readRun(join(dir, 'two'));
    assert.match(String(all), /INCOMPLETE/);
    assert.match(whole.verdict.reasons.join('\n'), /^generator 2 of 2 \(1\/2:1\) was cut off/m);
    await assertAgree(join(dir, 'two'));
  });

  test('npm run scenario completes the report itself', async (t) => {
    const { runDir } = await place(t);
    const env = { ...pipeline.env, RUN_DIR: runDir };
    const running = node(['scenarios/run/run.ts', 'scenarios/smoke.js', ...LOAD], env);
    await eventually(async () => (await linesOf(runDir)).length >= 3, 'three seconds', 60_000);
    const { stdout } = await execa('pgrep', ['-P', String(running.pid), '-x', 'k6']);
    const left = await killAt(Number(stdout), runDir, 3);
    const { exitCode } = await running;
    assert.equal(exitCode, 137);
    assertKnows(await readRun(runDir), left);
    await assertAgree(runDir);
  });
});
