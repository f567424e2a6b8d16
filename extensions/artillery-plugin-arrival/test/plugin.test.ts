/** The whole plugin with engine.ts instead of Artillery, so that `npm test` covers it. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connectAsync } from 'mqtt';
import { parse } from 'yaml';
import { K6 } from '../../../pipeline/stack/k6.ts';
import { eventually } from '../../../pipeline/test/services.ts';
import { latencyOf } from '../../../reports/contract/run.ts';
import { assertPass, node, Pipeline, readRun } from '../../../scenarios/test/harness.ts';

const RAMP = join(import.meta.dirname, '../../../scenarios/ramp.artillery.yml');
const ENGINE = join(import.meta.dirname, 'engine.ts');

describe('the plugin', () => {
  let pipeline: Pipeline;
  before(async () => {
    pipeline = await Pipeline.start();
  });
  after(() => pipeline.stop());

  async function run(
    change: (config: Record<string, unknown>) => void = () => {},
    place = 'run',
    more: NodeJS.ProcessEnv = {},
  ) {
    const script = parse(readFileSync(RAMP, 'utf8'));
    script.config.phases = [{ name: 'sustained', duration: 1, arrivalRate: 40 }];
    change(script.config);
    const dir = join(pipeline.env.STACK_DIR as string, place);
    const env = { ...pipeline.env, RUN_DIR: dir, LABELS: 'build=17, branch=main', ...more };
    const { exitCode, all } = await node([ENGINE, JSON.stringify({ path: RAMP, script })], env);
    return { exitCode, text: String(all), dir };
  }

  test('sends on time, accounts for every message and emits its metrics', async () => {
    const { exitCode, text, dir } = await run();
    const result = await readRun(dir, text);
    assertPass(result, exitCode);
    assert.deepEqual(result.run.labels, { build: '17', branch: 'main' });
    assert.deepEqual(result.account.requests, { scheduled: 40, sent: 40, retried: 0, failed: 0 });
    assert.equal(result.account.arrived, result.account.scheduled);
    assert.ok(result.account.balanced);
    assert.ok((latencyOf(result.latency, 'schedule').min as number) >= 0, 'nothing is sent before it is due');
    const metrics = JSON.parse(/^\{.*\}$/m.exec(text)?.[0] ?? assert.fail(text));
    assert.equal(metrics['arrival.latency'], result.account.deliveries.arrived);
    assert.equal(metrics['arrival.arrived'], result.account.arrived);
    assert.equal(metrics['arrival.lost'], 0);
  });

  test('with TRACES each request carries the context of its first message, as with k6', async (t) => {
    const { url, username, password } = pipeline.stack.file.mqtt;
    const client = await connectAsync(url, { username, password, protocolVersion: 5 });
    t.after(() => client.endAsync(true));
    const seen = new Map<string, unknown>();
    client.on('message', (_, body, { properties }) => {
      const { id } = JSON.parse(String(body));
      if (!id.includes('.canary.')) seen.set(id, properties?.userProperties?.traceparent);
    });
    await client.subscribeAsync('messages/#');
    const { text, dir } = await run(undefined, 'traces', { TRACES: '5' });
    const { account, messages } = await readRun(dir, text);
    await eventually(() => seen.size === account.scheduled, 'every message');
    const contextOf = (id: string) => {
      const hash = createHash('sha256').update(id).digest('hex');
      return `00-${hash.slice(0, 32)}-${hash.slice(32, 48)}-01`;
    };
    const own = new Set([...seen.keys()].map(contextOf));
    const sent = new Set(seen.values());
    assert.equal(sent.size, account.requests.sent);
    for (const context of sent) assert.ok(own.has(String(context)), `${context}`);
    const traces = readFileSync(join(dir, 'traces.otlp.json'), 'utf8');
    const slowest = messages?.slowest[0]?.trace ?? assert.fail('the slowest has no trace');
    assert.ok(traces.includes(`"${slowest}"`));
  });

  test('a message answered with 502 is unknown, not rejected', async (t) => {
    const { env } = await pipeline.gateway(t, (body) => (body.includes('.canary.') ? 'pass' : 'bad gateway'));
    const impatient = (config: Record<string, unknown>) => {
      config.plugins = { arrival: { profile: 'profiles/ramp.yml', idle: 1 } };
    };
    const { exitCode, text, dir } = await run(impatient, 'gateway', env);
    const { account, errors } = await readRun(dir, text);
    assert.equal(account.unknown, account.scheduled);
    assert.deepEqual([account.rejected, account.dropped], [0, 0]);
    assert.deepEqual(
      errors.map(({ class: what, count }) => [what, count]),
      [['HTTP 502', 40]],
    );
    assert.equal(exitCode, 99);
  });

  test('a clock bound above CLOCK_LIMIT makes the run invalid', async () => {
    const { exitCode, text, dir } = await run(undefined, 'clock', { CLOCK_LIMIT: '1us' });
    const { verdict } = await readRun(dir, text);
    assert.equal(verdict.result, 'invalid');
    assert.match(verdict.reasons.join('\n'), /clock/);
    assert.equal(exitCode, 99);
  });

  test('an unwritable RUN_DIR fails with one line before anything is sent', async () => {
    writeFileSync(join(pipeline.env.STACK_DIR as string, 'file'), '');
    const { exitCode, text } = await run(undefined, 'file/run');
    assert.match(text, /^arrival: dir \(RUN_DIR\): .*not a directory$/m);
    assert.equal(exitCode, 1);
  });

  // Regression: virtual users waited forever after the recorder had ended.
  test('a killed recorder ends the run with one line', async () => {
    const k6 = join(pipeline.env.STACK_DIR as string, 'k6-for-a-while');
    writeFileSync(k6, `#!/bin/sh\nexec timeout -s KILL 4 '${K6}' "$@"\n`, { mode: 0o755 });
    const longer = (config: Record<string, unknown>) => {
      config.phases = [{ name: 'sustained', duration: 60, arrivalRate: 10 }];
    };
    const { exitCode, text, dir } = await run(longer, 'killed', { ARRIVAL_K6: k6 });
    assert.match(text, /^arrival: the recorder ended with \S+/m);
    assert.match(text, /^report {2}\S+killed\/index\.html$/m);
    assert.equal(exitCode, 1);
    assert.equal((await readRun(dir)).verdict.result, 'incomplete');
  });

  test('an invalid TRACES fails with one line', async () => {
    const { exitCode, text } = await run(undefined, 'run', { TRACES: 'some' });
    assert.match(text, /^arrival: TRACES is some; allowed: 0 to 10000$/m);
    assert.equal(exitCode, 1);
  });
});
