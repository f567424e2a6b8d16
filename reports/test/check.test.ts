import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { execa } from 'execa';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Run } from '../contract/run.ts';
import { type GOLDENS, golden } from './goldens.ts';

const ROOT = join(import.meta.dirname, '../..');

let dir: string;
before(async () => {
  dir = await temporaryDirectory();
});
after(() => remove(dir));

const check = (...files: string[]) =>
  execa(join(ROOT, 'k6'), ['x', 'arrival', 'check', ...files], { reject: false, cwd: dir });

async function put(name: (typeof GOLDENS)[number], change: (run: Run) => void = () => {}): Promise<string> {
  const run = golden(name);
  change(run);
  await writeFile(join(dir, 'run.json'), JSON.stringify(run));
  return '.';
}

test('check prints a passing run with its rules', async () => {
  const { exitCode, stdout, stderr } = await check(await put('passing'));
  assert.deepEqual([exitCode, stderr], [0, '']);
  assert.match(stdout, /^pass {8}\.\n/);
  assert.match(stdout, /^ {2}held {8}arrival_p99 < 250 ms: [\d.]+ ms$/m);
});

test('check exits 99 and names the failed rule if one of several runs fails', async () => {
  const file = join(ROOT, 'reports/testdata/failing.json');
  const { exitCode, stdout } = await check(await put('passing'), file);
  assert.equal(exitCode, 99);
  assert.match(stdout, /^fail {8}.+failing\.json$/m);
  assert.match(stdout, /^ {2}fail {8}arrival_p99 < 250 ms: 4,020 ms/m);
});

test('a run with an unjudged limit does not pass', async () => {
  const open = await check(
    await put('passing', ({ verdict }) => {
      const limit = verdict.rules?.find(({ name }) => name === 'arrival_p99');
      assert.ok(limit);
      limit.ok = null;
    }),
  );
  assert.equal(open.exitCode, 2);
  assert.match(open.stdout, /^incomplete {2}\.$/m);
  assert.match(open.stdout, /^ {2}not judged {2}arrival_p99/m);
});

test('check exits 2 for a run with an undecided limit, and says so', async () => {
  const { exitCode, stdout } = await check(join(ROOT, 'reports/testdata/gap.json'));
  assert.equal(exitCode, 2);
  assert.match(stdout, /^invalid {5}.+gap\.json\n {2}undecided: .*arrival p99/m);
  assert.match(stdout, /^ {2}undecided {3}arrival_p99/m);
});

test('check exits 1 for an invalid run, names its fault and still checks the others', async () => {
  const broken = await put('passing', ({ account }) => {
    Object.assign(account, { lost: 'three' });
  });
  const { exitCode, stdout, stderr } = await check(broken, join(ROOT, 'reports/testdata/failing.json'));
  assert.equal(exitCode, 1);
  assert.match(stdout, /^fail /m, 'the other run is checked');
  assert.match(stderr, /run\.json is not a valid run: account\.lost: got string, want integer/);
  const former = await check('--slo', 'arrival.within(250ms) >= 9%', '.');
  assert.equal(former.exitCode, 1);
  assert.match(former.stderr, /--slo is not an option; allowed: --threshold 'arrival/);
  for (const args of [[], ['nowhere'], ['--threshold', 'arrival.p7 < 1', '.']])
    assert.equal((await check(...args)).exitCode, 1);
});
