import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import hdr from 'hdr-histogram-js';
import { Progress } from './progress.ts';

/** A run of two steps of 10 s: functions that write its files, and the progress that reads them. */
async function begin(
  t: TestContext,
  isTTY: boolean,
  instances = ['.'],
  bound: { requests?: number; measured?: boolean } = {},
  columns = 200,
) {
  const dir = await mkdtemp(join(tmpdir(), 'arrival-progress-'));
  const shown: string[] = [];
  const progress = new Progress(dir, { isTTY, columns, write: (text: string) => shown.push(text) > 0 });
  t.after(() => {
    progress.stop();
    return rm(dir, { recursive: true });
  });
  const phases = ['1', '8'].map((name) => ({ name, duration_s: 10, measured: true, ...bound }));
  const verdict = { rules: [{ name: 'arrival_p99', op: '<', limit: 250, unit: 'ms', ok: null }] };
  const write = async (ended: string | null) => {
    for (const part of instances) {
      await mkdir(join(dir, part), { recursive: true });
      await writeFile(
        join(dir, part, 'run.json'),
        JSON.stringify({ run: { ended, profile: { phases } }, verdict }),
      );
    }
  };
  await write(null);
  const second = async (n: number, phase: string | null, ms: number, part = '.', more = {}) => {
    const histogram = hdr.build({ numberOfSignificantValueDigits: 3 });
    histogram.recordValue(ms * 1000);
    const text = hdr.encodeIntoCompressedBase64(histogram);
    await appendFile(join(dir, part, 'arrival.hlog'), `Tag=arrival,${n}.000000,1.000000,0.1,${text}\n`);
    const row = JSON.stringify({ t: n, phase, requests: 1200 + n, backlog: 7, ...more });
    await appendFile(join(dir, part, 'timeline.ndjson'), `${row}\n`);
  };
  return { dir, shown, progress, second, end: () => write('2026-11-23T10:00:00Z') };
}

// Regression: k6 showed "0/1 iters" and "24m20s max" for the whole run.
test('the line shows step, time left, rate and p99 so far', async (t) => {
  const { shown, progress, second, end } = await begin(t, true);
  progress.look();
  assert.deepEqual(shown, [], 'nothing is known yet');
  await second(0, '1', 2);
  progress.look();
  assert.match(
    shown.at(-1) ?? '',
    /0:01 {2}1 \(1 of 2\) · 0:19 left · 1,200 requests\/s · .*p99 so far 2\.00 ms .* · /,
  );
  await second(1, '1', 30);
  await second(12, '8', 20);
  progress.look();
  assert.match(
    shown.at(-1) ?? '',
    /0:13 {2}8 \(2 of 2\) · 0:09 left · 1,212 requests\/s · .*p99 so far 30\.0 ms .* · /,
  );
  progress.look();
  assert.equal(shown.length, 2, 'nothing is new');
  await second(13, null, 1);
  progress.look();
  // Regression: "good so far" for as long as the run waited for messages that never came.
  assert.match(shown.at(-1) ?? '', /0:14 .*on its way · .*backlog 7\s*$/);
  await second(14, null, 1);
  await end();
  progress.look();
  assert.equal(shown.length, 3, 'the summary follows');
});

// Regression: a slow warm-up, which no limit is about, was "too slow" for the rest of the run.
test('p99 so far and its limit leave out the warm-up', async (t) => {
  const { shown, progress, second } = await begin(t, true, ['.'], { measured: false });
  await second(0, '1', 900);
  progress.look();
  assert.match(shown.at(-1) ?? '', /p99 so far n\/a .* · good so far/);
  await second(1, null, 20);
  progress.look();
  assert.match(shown.at(-1) ?? '', /p99 so far 20\.0 ms /);
});

// Regressions: a line of 100 characters scrolled a terminal of 80 each second; 12,346 ms was 1.235e+4 ms.
test('the line fits the terminal, and has p99 with its limit and the state of the run', async (t) => {
  for (const columns of [200, 100, 80, 60, 40, 20]) {
    const { shown, progress, second } = await begin(t, true, ['.'], {}, columns);
    const line = () => (shown.at(-1) ?? '').replace('\x1b[2K', '').replace('\r', '');
    await second(0, '1', 30);
    progress.look();
    assert.ok([...line()].length < columns, line());
    if (columns >= 40) assert.match(line(), /p99 .*30\.0 .*250.* ms.* · good so far$/);
    await second(1, '1', 12_346, '.', { requests: 123_456, backlog: 1_234_567 });
    progress.look();
    assert.ok([...line()].length < columns, line());
    if (columns >= 40) assert.match(line(), /12,3\d\d .*too slow$/);
    await second(2, '1', 30, '.', { rejected: 1200, failed: 34 });
    progress.look();
    if (columns >= 40) assert.match(line(), /1,234 failed$/);
    assert.doesNotMatch(line(), /e\+/);
  }
});

test('without a terminal, it prints a line at each phase and every ten seconds', async (t) => {
  const { shown, progress, second } = await begin(t, false);
  for (let n = 0; n < 24; n++) {
    await second(n, n < 8 ? '1' : n < 20 ? '8' : null, 1);
    progress.look();
  }
  assert.deepEqual(
    shown.map((line) => /^ {2}(\d:\d\d) .*\n$/.exec(line)?.[1]),
    ['0:01', '0:09', '0:19', '0:21'],
  );
});

// Regression: three instances showed nothing until they were merged.
test('several instances share one line, with the progress of the slowest', async (t) => {
  const [one, two] = ['generator-1', 'generator-2'];
  const { shown, progress, second } = await begin(t, true, [one, two]);
  await second(0, '1', 2, one);
  progress.look();
  assert.deepEqual(shown, [], 'the other one has not begun');
  await second(0, '1', 30, two);
  await second(1, '1', 2, one);
  progress.look();
  assert.match(
    shown.at(-1) ?? '',
    /0:01 {2}1 \(1 of 2\) · 0:19 left · 2,401 requests\/s · .*p99 so far 30\.0 ms .* · backlog 14/,
  );
});

// Regression: it showed "59:59 left", though the duration is only an upper bound.
test('a step that ends by its requests shows the requests of all instances', async (t) => {
  const [one, two] = ['generator-1', 'generator-2'];
  const { shown, progress, second } = await begin(t, true, [one, two], { requests: 9000 });
  for (const part of [one, two]) await second(0, null, 2, part);
  progress.look();
  assert.match(shown.at(-1) ?? '', /0:01 {2}before the first phase · /);
  for (const part of [one, two]) for (const n of [1, 2]) await second(n, '1', 2, part);
  progress.look();
  assert.match(shown.at(-1) ?? '', /0:03 {2}1 \(1 of 2\) · 4,806 of 9,000 requests · 2,404 requests\/s · /);
  for (const part of [one, two]) await second(3, '8', 2, part);
  progress.look();
  assert.match(shown.at(-1) ?? '', /0:04 {2}8 \(2 of 2\) · 2,406 of 9,000 requests · /);
});
