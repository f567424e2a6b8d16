import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Run } from '../../../reports/run.ts';
import { agreement, cpuPerMessage, tableOf } from '../tools.ts';

const GOLDEN = join(import.meta.dirname, '../../../reports/testdata/passing.json');

/** The golden run, as if of a tool, with an arrival p50. */
function runOf(tool: string, p50: number): Run {
  const run = JSON.parse(readFileSync(GOLDEN, 'utf8')) as Run;
  run.run.tool.name = tool;
  run.latency.arrival.p50 = p50;
  run.clock = run.clock && { ...run.clock, bound_ms: 0.1 };
  run.run.profile.phases = run.run.profile.phases.slice(0, 1).map((phase) => ({ ...phase, duration_s: 10 }));
  run.account.scheduled = 10_000;
  run.resources = [
    {
      process: tool,
      cpu_percent: { mean: 50, max: 60 },
      rss_mb: { mean: 80, max: 90 },
      series: [],
      figures: null,
    },
  ];
  return run;
}

test('CPU a message is that of the whole generator', () => {
  assert.equal(cpuPerMessage(runOf('k6', 1)), 500);
});

test('tools agree within 10 % and the clock bound, and not beyond', () => {
  const said = (other: number) => agreement([runOf('k6', 1), runOf('artillery', other)])[0];
  assert.match(
    said(1.19) ?? '',
    /^arrival p50: 1\.000 and 1\.190 ms, agree within 10 % and the clock bound of 0\.100 ms/,
  );
  assert.match(said(1.21) ?? '', /further apart than/);
  assert.match(said(0.79) ?? '', /further apart than/);
  assert.deepEqual(agreement([runOf('k6', 1)]), [], 'of one tool there is nothing to say');
});

test('the table has a column for each run, and says when an account does not balance', () => {
  const open = runOf('artillery', 2);
  open.account.balanced = false;
  const table = tableOf([runOf('k6', 1), open]);
  assert.match(table, /^account +balances +OPEN$/m);
  assert.match(table, /^arrival p50, ms +1 +2$/m);
  assert.match(table, /^CPU of the generator a message, µs +500 +500$/m);
});
