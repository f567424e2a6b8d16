import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { identity } from '../setup/lock.mjs';
import { eventually, remove, temporaryDirectory } from '../test/services.ts';
import { Supervised } from './process.ts';

let logs: string;
before(async () => {
  logs = await temporaryDirectory();
});
after(() => remove(logs));

/** A master with a worker, like nginx. The worker holds the master's pipes, and does not notice its death. */
const MASTER = { name: 'master', command: 'sh', args: ['-c', 'sleep 600 & echo worker $!; wait'] };
const PATTERN = /^worker (\d+)$/;

/** Whether a process exists and is not a zombie. */
const isThere = (pid: number) => identity(pid) !== undefined;

test('SIGKILL ends the whole process group', async () => {
  const master = await Supervised.start(MASTER, { logs });
  const worker = Number((await master.says(PATTERN, 30_000))[1]);
  master.signal('SIGKILL');
  await eventually(() => !isThere(worker), 'the end of the worker');
  assert.equal(await master.ended, 'was killed by SIGKILL');
});

// Regression: the worker held the master's pipes, so the master's end was not seen and stop() waited forever.
test('the end of a killed master is reported, and ends its workers', async () => {
  const master = await Supervised.start(MASTER, { logs });
  const worker = Number((await master.says(PATTERN, 30_000))[1]);
  process.kill(master.pid, 'SIGKILL');
  assert.equal(await master.ended, 'was killed by SIGKILL');
  await eventually(() => !isThere(worker), 'the end of the worker');
});

test('the death of the supervisor ends a master and its workers', async () => {
  const script = `import { Supervised } from ${JSON.stringify(join(import.meta.dirname, 'process.ts'))};
    const master = await Supervised.start(${JSON.stringify(MASTER)}, { logs: ${JSON.stringify(logs)} });
    console.log((await master.says(${PATTERN}, 30_000))[1], master.pid);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  const [worker, master] = String((await once(child.stdout, 'data'))[0])
    .split(' ')
    .map(Number);
  child.kill('SIGKILL');
  await eventually(() => !isThere(master as number), 'the end of the master');
  await eventually(() => !isThere(worker as number), 'the end of the worker');
});

// Regression: the error had no listener. A full disk killed the supervisor, which left secrets and processes.
test('a process continues if its log cannot be written', async () => {
  await mkdir(join(logs, 'talker.log'));
  const talker = await Supervised.start(
    { name: 'talker', command: 'sh', args: ['-c', 'echo one; echo two'] },
    { logs },
  );
  assert.equal(await talker.ended, 'exited with code 0');
  assert.deepEqual(talker.lastLines, ['one', 'two']);
});
