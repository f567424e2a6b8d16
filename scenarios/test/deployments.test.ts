import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { StackFile } from '../../pipeline/stack/file.ts';
import { golden } from '../../reports/test/goldens.ts';
import { NamespacePipeline } from '../deployments/namespace.ts';
import { table } from '../deployments/table.ts';
import { Lab } from '../matrix/lab.ts';
import { node, place } from './harness.ts';

test('a pipeline in a network namespace takes messages from the host, and is gone with its link', async (t) => {
  const refusal = Lab.refusal();
  if (refusal !== null) return t.skip(refusal);
  const { dir, env } = await place(t);
  const { NO_COLOR: _, ...settings } = env;
  const pipeline = await NamespacePipeline.start(dir, settings).catch((error: Error) => error.message);
  if (typeof pipeline === 'string') return t.skip(pipeline);
  const file = join(pipeline.dir, 'stack.json');
  const stack = JSON.parse(await readFile(file, 'utf8')) as StackFile;
  const post = () =>
    fetch(`${stack.ingest.url}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.ingest.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id: '1', target: 'user/1' }),
      signal: AbortSignal.timeout(60_000),
    });
  try {
    assert.match(stack.ingest.url, /^http:\/\/192\.0\.2\.\d+:\d+$/);
    const answer = await post();
    assert.equal(answer.status, 202, await answer.text());
  } finally {
    await pipeline.stop();
  }
  assert.ok(!existsSync(file));
});

test('average, max and min of each deployment stand beside each other', () => {
  const bare = golden('closed');
  const nginx = golden('closed');
  for (const step of nginx.steps) Object.assign(step.latency.http, { mean: 1200, max: 3400, min: 0.5 });
  const [heads, columns, first] = table([
    { name: 'bare', dir: '', run: bare },
    { name: 'nginx', dir: '', run: nginx },
  ]).split('\n');
  assert.match(String(heads), /^ +bare +nginx$/);
  assert.match(String(columns), /^concurrent +average +max +min +average +max +min$/);
  assert.match(String(first), /^warm-up +[\d.]+ +[\d.]+ +[\d.]+ +1,200 +3,400 +0\.500$/);
  nginx.account.balanced = false;
  assert.match(table([{ name: 'nginx', dir: '', run: nginx }]), /^warm-up +– +– +–$/m);
});

test('what the deployments can not be given is told in one line, before anything starts', async () => {
  for (const [args, env, message] of [
    [['--vus', '3'], {}, '--vus is not known; allowed: -e NAME=value, --help'],
    [
      [],
      { INGEST_URL: 'http://127.0.0.1:1' },
      'INGEST_URL is set, and each deployment is a pipeline that is started: leave it out',
    ],
    [['-e', 'CONCURRENCY=9..1'], {}, /^CONCURRENCY is "9\.\.1": 9 is above 1; allowed: /],
  ] as const) {
    const { stderr, exitCode } = await node(['scenarios/deployments/main.ts', ...args], env);
    if (typeof message === 'string') assert.equal(stderr, message);
    else assert.match(stderr, message);
    assert.equal(exitCode, 1);
  }
});
