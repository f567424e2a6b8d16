import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { identity } from '../setup/lock.mjs';
import { ConfigError } from '../shared/config.ts';
import { remove, temporaryDirectory } from '../test/services.ts';
import { runningStack, type StackFile, writeStackFile } from './file.ts';
import { checkSettings } from './settings.ts';

// Regression: after a restart of the machine, or of a container, another process had the supervisor's pid.
test('a stack with a dead supervisor is not up, even if another process has its pid', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const { pid } = process;
  const isUp = async (stack: Partial<StackFile>) => {
    await writeStackFile(dir, stack as StackFile);
    return (await runningStack(dir)) !== undefined;
  };
  assert.equal(await isUp({ pid, identity: identity(pid) as string }), true);
  assert.equal(await isUp({ pid }), true);
  assert.equal(await isUp({ pid, identity: `${pid} 1` }), false);
});

test('settings are compared by meaning, not by text', () => {
  // Only Linux can pin CPUs.
  const status = process.platform === 'linux' ? readFileSync('/proc/self/status', 'utf8') : '';
  const [, cpu] = /^Cpus_allowed_list:\s*(\d+)/m.exec(status) ?? [];
  const up = {
    pid: 1,
    ingest: { token: '' },
    facts: { ingest_workers: 1 },
    settings: { ...(cpu && { CPU_AFFINITY: `redis=${cpu} relay=${cpu}` }), INGEST_PORT: 18080, TLS: false },
  } as unknown as StackFile;
  const refused = (env: Record<string, string>) => {
    try {
      checkSettings('/nowhere', up, env);
      return false;
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      return true;
    }
  };
  if (cpu) {
    assert.equal(refused({ CPU_AFFINITY: `relay=${cpu} k6=${cpu} redis=${cpu}` }), false);
    assert.equal(refused({ CPU_AFFINITY: `k6=${cpu} redis=${cpu}` }), true);
  }
  assert.equal(refused({ INGEST_PORT: '0', INGEST_WORKERS: '1', TLS: 'false' }), false);
  assert.equal(refused({ INGEST_PORT: '18081' }), true);
  assert.equal(refused({ INGEST_WORKERS: '2' }), true);
  assert.equal(refused({ TLS: 'true' }), true);
  assert.equal(refused({ QUEUE: 'pile' }), true);
});
