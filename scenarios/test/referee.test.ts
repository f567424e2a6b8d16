import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Referee, Truth } from '../../reports/referee/result.ts';
import { TRUTHS } from '../campaigns/referee/options.ts';
import { ROOT } from './harness.ts';

before(async () => {
  await execa({ cwd: ROOT })`go build -C extensions/k6 -buildvcs=false -o ../../.stack/referee ./cmd/referee`;
});

test('the truths that options name are those of the server', async () => {
  const { stdout } = await execa(join(ROOT, '.stack/referee'), ['truths']);
  const names = (JSON.parse(stdout) as Truth[]).map(({ name }) => name);
  assert.deepEqual(names, TRUTHS);
});

/** Starts a campaign of the known-bad tool, which needs no installation, with reports of its own. */
async function start(t: TestContext, flags: string[]) {
  const reports = await temporaryDirectory();
  t.after(() => remove(reports));
  const script = join(ROOT, 'scenarios/campaigns/referee/main.ts');
  const child = execa(process.execPath, [script, '--tools', 'loop', '--rate', '100', ...flags], {
    ...{ cwd: ROOT, env: { ARRIVAL_REPORTS: reports, NO_COLOR: '1' }, reject: false, all: true },
  });
  const folders = () => globSync(join(reports, 'runs/*'));
  const result = () => {
    const path = join(folders()[0] ?? '', 'referee.json');
    assert.ok(existsSync(join(dirname(path), 'index.html')));
    return JSON.parse(readFileSync(path, 'utf8')) as Referee;
  };
  return { child, folders, result };
}

test('a closed loop counts as the server does, and reports less than a freeze was', async (t) => {
  const { child, result } = await start(t, ['--truths', 'freeze', '--seconds', '4']);
  const { all } = await child;
  const { runs, truths, tools } = result();
  const [{ reported, requests, served, command }, ...more] = runs as [Referee['runs'][0]];
  assert.deepEqual(more, [], all);
  const { done = 0, failed = 0 } = reported.requests;
  assert.equal(done + failed, requests.begun);
  assert.equal(served.count, requests.answered);
  assert.match(command, /^node \S+loop\.mjs http:\/\/127\.0\.0\.1:\d+\/ 4 \d+$/);
  assert.equal(truths[0]?.due.count, 400);
  assert.ok((reported.p99_ms ?? 0) < (truths[0]?.due.p99_ms ?? 0), 'it sends nothing in the freeze');
  assert.equal(tools[0]?.version, process.versions.node);
});

test('Ctrl-C ends a campaign, which writes what there is', async (t) => {
  const { child, result } = await start(t, ['--truths', 'constant', '--seconds', '1', '--repeats', '20']);
  for await (const line of child.iterable({ from: 'all' })) {
    if (line.startsWith('run ')) child.kill('SIGINT');
  }
  const { exitCode } = await child;
  assert.equal(exitCode, 130);
  assert.ok(result().runs.length >= 1);
  assert.ok(result().runs.length < 20);
});

test('Ctrl-C before the first result leaves no folder', async (t) => {
  const { child, folders } = await start(t, ['--truths', 'constant', '--seconds', '60']);
  for await (const line of child.iterable({ from: 'all' })) {
    if (line.startsWith('referee ')) child.kill('SIGINT');
  }
  const { exitCode } = await child;
  assert.equal(exitCode, 130);
  assert.deepEqual(folders(), []);
});
