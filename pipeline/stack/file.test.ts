import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identity } from '../setup/lock.mjs';
import { remove, temporaryDirectory } from '../test/services.ts';
import { runningStack, type StackFile, writeStackFile } from './file.ts';

// After a restart of the machine, or of a container, another process had the supervisor's pid.
test('a stack whose supervisor is gone is not up, though another process has its pid', async (t) => {
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
