import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Run } from '../../contract/run.ts';
import { golden } from '../../test/goldens.ts';
import { latest } from '../catalogue.ts';
import { grow, temporaryRuns, writeRun } from './runs.ts';

function run(method: string, hour: number, ended = true): Run {
  const one = golden('passing');
  const started = `2026-11-21T${hour}:00:00.000Z`;
  return { ...one, run: { ...one.run, method, started, ended: ended ? started : null } };
}

test('latest is the newest finished run of all methods or of one', async (t) => {
  const root = await temporaryRuns();
  t.after(() => rm(root, { recursive: true }));
  await assert.rejects(latest('latest', root), {
    message: 'there is no run that has ended in reports/runs; there are runs of: nothing',
  });
  await writeRun(root, 'b', run('ramp', 10));
  await writeRun(root, 'c', run('ramp', 11));
  await writeRun(root, 'a', run('sweep', 12));
  await grow(await writeRun(root, 'd', run('ramp', 13, false)), '{}\n');
  const part = run('sweep', 14);
  const share = { segment: '0:1/2', sequence: '0,1/2,1', start_us: 1_795_317_447_755_881, late_ms: 0 };
  part.run.generator = { number: 1, of: 2, ...share };
  await mkdir(join(root, 'e'));
  await writeRun(join(root, 'e'), 'generator-1', part);
  assert.equal(await latest('latest', root), join(root, 'a'), 'an instance’s part is not a run');
  assert.equal(await latest('latest:ramp', root), join(root, 'c'));
  assert.equal(await latest('ramp', root), undefined);
  // Regression: latest:ramp selected a run of Artillery, whose method is also ramp.
  const other = run('ramp', 15);
  other.run.tool.name = 'artillery';
  await writeRun(root, 'f', other);
  assert.equal(await latest('latest:ramp', root), join(root, 'c'));
  assert.equal(await latest('latest:ramp:artillery', root), join(root, 'f'));
  await assert.rejects(latest('latest:soak', root), {
    message:
      'there is no run of soak that has ended in reports/runs; there are runs of: ramp, ramp:artillery, sweep',
  });
});
