import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { execa } from 'execa';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { writePair } from '../comparison/test/pair.ts';
import type { Run } from '../contract/run.ts';
import { main } from '../main.ts';
import { ran } from './command.ts';
import { type GOLDENS, golden } from './goldens.ts';

const ROOT = join(import.meta.dirname, '../..');

let dir: string;
before(async () => {
  dir = await temporaryDirectory();
});
after(() => remove(dir));

const report = (...args: string[]) => ran(main, ...args);
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

test('npm run report -- check ends as k6 does: 99 for a broken threshold, else 2 for one that is not decided, else 0', async () => {
  await writePair(dir);
  const a = join(dir, 'a');
  const gate = (run: string, ...thresholds: string[]) =>
    report('check', run, ...thresholds.flatMap((threshold) => ['--threshold', threshold]));
  const [held, broken] = ['arrival.p99 < 1000ms', 'arrival.p99 > 1000ms'] as const;
  const passed = await gate(a, held, 'account.lost == 0');
  assert.deepEqual([passed.code, passed.stderr], [0, '']);
  assert.match(passed.stdout, /^ {2}held {8}arrival_p99 < 1,000 ms: [\d.]+ ms$/m);
  assert.equal((await gate(a, 'arrival.within(250ms) >= 99.99%')).code, 0);
  assert.equal((await gate(a, 'arrival.within(250ms) > 99.99%')).code, 99);
  const crossed = await gate(a, held, broken);
  assert.equal(crossed.code, 99);
  assert.match(crossed.stdout, /^ {2}fail {8}arrival_p99 > 1,000 ms: /m);

  const invalid = join(dir, 'invalid');
  await mkdir(invalid);
  const run = golden('passing');
  Object.assign(run.verdict, { result: 'invalid', reasons: ['the generator was late'] });
  Object.assign(run.account, { lost: 1, arrived: run.account.arrived - 1 });
  await writeFile(join(invalid, 'run.json'), JSON.stringify(run));
  const doubted = await gate(invalid, held);
  assert.equal(doubted.code, 2);
  assert.match(doubted.stdout, /^ {2}not judged {2}arrival_p99 < 1,000 ms \(the run is invalid\)$/m);
  assert.equal((await gate(invalid, held, 'account.lost == 0')).code, 99, 'the loss counts');
  assert.equal((await report('check', a, invalid)).code, 2, 'several runs');
  await mkdir(join(dir, 'refusing'));
  await writeFile(join(dir, 'refusing/run.json'), JSON.stringify(golden('refusing')));
  const refusing = await gate(join(dir, 'refusing'), held);
  assert.equal(refusing.code, 99);
  assert.match(refusing.stdout, /^ {2}fail {8}rejected ≤ 0 messages: 78,751 messages/m);

  await mkdir(join(dir, 'bare'));
  for (const [args, says] of [
    [['check'], /^report: check takes runs/],
    [['check', a, '--fail-if', 'arrival.p99 > 1ms'], /^report: check has no --fail-if; allowed: --threshold/],
    [['check', a, '--threshold', 'arrival.p99 < +10%'], /column 15: a limit with a sign is a difference/],
    [['check', join(dir, 'bare'), '--threshold', held], /run\.json/],
  ] as const) {
    const { code, stderr } = await report(...args);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
  }
});
