/** A stop, step by step. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig, StackConfig } from '../shared/config.ts';
import { eventually, remove, temporaryDirectory } from '../test/services.ts';
import { Stack } from './stack.ts';

// Regression: a stop removed the files before it ended the processes: an ingest that was about to read its tokens printed ENOENT.
test('a stop leaves the files of its processes until they have ended', async (t) => {
  const own = await temporaryDirectory();
  t.after(() => remove(own));
  const ports = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0' };
  const stack = await Stack.start(readConfig(StackConfig, { ...ports, TLS: 'true', STACK_DIR: own }));
  const secrets = ['ingest.tokens', 'tls'].map((name) => join(own, name));
  const pid = stack.file.processes['ingest-1'] as number;
  process.kill(pid, 'SIGSTOP'); // it cannot read them while it is stopped
  const stopping = stack.stop(0);
  const file = join(own, 'stack.json');
  await eventually(() => !existsSync(file), 'no stack', 60_000);
  await sleep(300);
  const left = secrets.filter((secret) => existsSync(secret));
  process.kill(pid, 'SIGCONT');
  await stopping;
  assert.deepEqual(left, secrets);
  for (const secret of secrets) assert.equal(existsSync(secret), false, secret);
});
