import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { execa } from 'execa';
import { main } from '../main.ts';
import { shownRun } from '../render.ts';
import { ran } from './command.ts';
import { golden } from './goldens.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'arrival-report-'));
});
after(() => rm(directory, { recursive: true }));

const report = (...args: string[]) => ran(main, ...args);
/** The command in a process of its own. */
const started = (...args: string[]) =>
  execa(process.execPath, [join(import.meta.dirname, '../main.ts'), ...args], { reject: false });

test('report writes index.html from run.json and prints its path', async () => {
  await writeFile(join(directory, 'run.json'), JSON.stringify(golden('passing')));
  const { exitCode, stdout, stderr } = await started(directory);
  assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
  assert.equal(stdout, join(directory, 'index.html'));
  const shown = shownRun(await readFile(join(directory, 'index.html'), 'utf8'));
  assert.equal(shown.run.id, golden('passing').run.id);
});

// Regression: `npm run report -- compare … | head` ended with the stack trace of an EPIPE.
test('a command whose output nobody reads comes to its own end', async () => {
  const gone = "trap '' PIPE; while printf x; do sleep 0.01; done 2>/dev/null";
  const pipe = `{ ${gone}; "$0" "$1" --help; echo "exit $?" >&2; } | :`;
  const { stderr } = await execa('sh', [
    '-c',
    pipe,
    process.execPath,
    join(import.meta.dirname, '../main.ts'),
  ]);
  assert.equal(stderr, 'exit 0');
});

test('--help prints the usage', async () => {
  const { code, stdout } = await report('--help');
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: npm run report -- <run> /);
});

for (const [name, content, expected] of [
  ['data that is not JSON', '{"schema":', /run\.json is not JSON: /],
  ['an invalid run', '{"schema":"arrival/run/1"}', /run\.json is not a valid run: missing propert.* 'run'/],
] as const) {
  test(`${name}: reported in one line with exit code 1`, async () => {
    await writeFile(join(directory, 'run.json'), content);
    const { code, stderr } = await report(directory);
    assert.equal(code, 1);
    assert.match(stderr, expected);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
  });
}

for (const [name, args, expected] of [
  [
    'a directory that does not exist',
    ['/nowhere'],
    /^report: \/nowhere is neither a directory nor the name of one/,
  ],
  [
    'a newest run that does not exist',
    ['latest:nothing'],
    /^report: there is no run of nothing that has ended in reports\/runs; /,
  ],
  ['a missing argument', [], /^report: expected one run, got 0; see --help\n$/],
  ['an unknown option', ['--what'], /^report: --what is not known; allowed: --fail-if, /],
  ['an option of another command', ['list', '--sure'], /^report: --sure belongs to compare; see --help\n$/],
  ['one run to compare', ['compare', '/nowhere'], /^report: compare takes at least two runs, got 1\n$/],
  [
    'a malformed condition',
    ['compare', 'a', 'b', '--fail-if', 'x'],
    /^report: --fail-if 'x', column 1: x is no/,
  ],
] as const) {
  test(`${name}: reported in one line with exit code 2`, async () => {
    const { code, stderr } = await report(...args);
    assert.equal(code, 2);
    assert.match(stderr, expected);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
  });
}

test('the process reports a missing run.json in one line and ends with exit code 1', async () => {
  const { exitCode, stderr } = await started(tmpdir());
  assert.equal(exitCode, 1);
  assert.match(stderr, /^[^\n]*run\.json: no such file or directory$/);
});
