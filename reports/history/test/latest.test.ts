import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Run } from '../../run.ts';
import { golden } from '../../test/goldens.ts';
import { latest } from '../latest.ts';
import { grow, temporaryRuns, writeRun } from './runs.ts';

function run(method: string, hour: number, ended = true): Run {
  const one = golden('passing');
  const started = `2026-11-21T${hour}:00:00.000Z`;
  return { ...one, run: { ...one.run, method, started, ended: ended ? started : null } };
}

test('latest is the newest run that is over, of all or of one method', async (t) => {
  const root = await temporaryRuns();
  t.after(() => rm(root, { recursive: true }));
  await assert.rejects(latest('latest', root), {
    message: 'there is no run that is over in reports/runs; there are runs of: nothing',
  });
  await writeRun(root, 'b', run('ramp', 10));
  await writeRun(root, 'c', run('ramp', 11));
  await writeRun(root, 'a', run('sweep', 12));
  await grow(await writeRun(root, 'd', run('ramp', 13, false)), '{}\n');
  assert.equal(await latest('latest', root), join(root, 'a'));
  assert.equal(await latest('latest:ramp', root), join(root, 'c'));
  assert.equal(await latest('ramp', root), undefined);
  await assert.rejects(latest('latest:soak', root), {
    message: 'there is no run of soak that is over in reports/runs; there are runs of: ramp, sweep',
  });
});
