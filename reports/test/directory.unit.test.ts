import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { moment, newDirectory } from '../directory.ts';

// Regression: two runs that began in the same second wrote into each other's files.
test('runs that begin in the same second get different directories', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'arrival-directory-'));
  t.after(() => rm(root, { recursive: true }));
  const name = join(root, 'runs', `ramp-${moment(new Date('2026-11-21T09:48:00.123Z'))}`);
  assert.equal(name, join(root, 'runs/ramp-20261121T094800Z'));
  assert.deepEqual(
    [newDirectory(name), newDirectory(name), newDirectory(name)],
    [name, `${name}-2`, `${name}-3`],
  );
});
