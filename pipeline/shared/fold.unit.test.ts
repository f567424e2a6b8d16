import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fold } from './fold.ts';

const HELP = `Runs a scenario against the pipeline and leaves a report in reports/runs/.

  npm run ramp [-- <k6 flags>]               also smoke, sweep, fixed, spike, soak

  SPANS               where the pipeline sends its OpenTelemetry spans, for stages, like :4318; files: joined later
  WEBHOOK_SECRET      ${'x'.repeat(100)} of a header
`;

// Regression: lines of up to 150 characters, which a terminal of 80 cuts anywhere.
test('help fits the terminal, and what continues stands below the column of its meaning', () => {
  for (const columns of [40, 60, 80, 120]) {
    const lines = fold(HELP, columns).split('\n');
    for (const line of lines) assert.ok(line.length <= columns || /x{100}/.test(line), line);
    assert.equal(fold(HELP, columns).replace(/\s+/g, ' '), HELP.replace(/\s+/g, ' '));
  }
  const at80 = fold(HELP, 80).split('\n');
  const setting = at80.findIndex((line) => line.startsWith('  SPANS'));
  assert.match(at80[setting + 1] as string, /^ {22}\S/);
  assert.equal(fold(HELP, 1000), HELP);
});
