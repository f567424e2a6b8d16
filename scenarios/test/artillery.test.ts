import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { identity } from '../../pipeline/setup/lock.mjs';
import { eventually, remove, temporaryDirectory } from '../../pipeline/test/services.ts';

// It went on sending for the whole profile, with nobody to stop it.
test('the command that runs Artillery is killed: Artillery does not stay behind', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const bin = join(dir, 'artillery.mjs');
  await writeFile(bin, 'console.log(process.pid); setInterval(() => {}, 1000);');
  const script = `import { ArtilleryRun } from ${JSON.stringify(join(import.meta.dirname, '../run/artillery-run.ts'))};
    const run = new ArtilleryRun(${JSON.stringify(bin)}, [], process.env);
    console.error('it is held');
    await run.ended;`;
  const command = spawn(process.execPath, ['--input-type=module', '-e', script]);
  const [[text]] = await Promise.all([once(command.stdout, 'data'), once(command.stderr, 'data')]);
  const pid = Number(text);
  assert.ok(identity(pid));
  command.kill('SIGKILL');
  await eventually(() => identity(pid) === undefined, "Artillery's end");
});
