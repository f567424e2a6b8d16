import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { oneSender, requireOneSender } from '../one-sender.ts';

// Regression: the whole process, with other plugins and hooks, was told two processors.
test("only Artillery's launcher is told two processors, and once", async (t) => {
  const { cpus } = os;
  const dir = mkdtempSync(join(os.tmpdir(), 'arrival-launcher-'));
  t.after(() => {
    os.cpus = cpus;
    rmSync(dir, { recursive: true });
  });
  os.cpus = () => Array.from({ length: 8 }, () => cpus()[0] as os.CpuInfo);
  const all = os.cpus;
  const place = join(dir, 'platform/local');
  mkdirSync(place, { recursive: true });
  writeFileSync(
    join(place, 'index.mjs'),
    "import os from 'node:os'; export const ask = () => os.cpus().length;",
  );
  const { ask } = await import(join(place, 'index.mjs'));
  oneSender();
  assert.equal(os.cpus().length, 8);
  assert.equal(ask(), 2);
  assert.equal(os.cpus, all);
  assert.equal(ask(), 8);
});

test('a share of a script is refused, with the number of threads', () => {
  const script = (...phases: object[]) => ({ config: { phases }, scenarios: [] });
  requireOneSender(script({ duration: 1, arrivalRate: 1, worker: 1, totalWorkers: 1 }));
  requireOneSender(script({ duration: 1, arrivalRate: 1 }));
  requireOneSender({ config: {}, scenarios: [] });
  assert.throws(
    () => requireOneSender(script({ pause: 1 }, { duration: 1, arrivalRate: 1, worker: 2, totalWorkers: 3 })),
    /^Error: Artillery sends from 3 threads, .*; allowed: one/,
  );
});
