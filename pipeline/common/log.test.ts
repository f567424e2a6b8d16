import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';

const LOG = join(import.meta.dirname, 'log.ts');
/** Logs more than a pipe holds, then says on standard error that it lives, and how much it keeps. */
const LOGGER = `
  const { openLog } = await import(${JSON.stringify(LOG)});
  const log = openLog('info');
  for (let n = 0; n < 50_000; n++) log.info('a line of some length, as others have it too');
  setTimeout(() => process.stderr.write('it lives, ' + process.stdout.writableLength), 1);
  setInterval(() => log.info('more'), 10);
`;

function logger() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', LOGGER]);
  return { child, said: once(child.stderr.setEncoding('utf8'), 'data') };
}

// Regression: the write waited for the reader, and ingest and relay with it.
test('a reader that stalls does not stop the process, whose lines have a bound', async (t) => {
  const { child, said } = logger();
  t.after(() => child.kill('SIGKILL'));
  const [text] = await said;
  const kept = Number(/^it lives, (\d+)$/.exec(text)?.[1]);
  assert.ok(kept > 0 && kept < 1_100_000, text);
  let read = 0;
  child.stdout.on('data', (bytes) => {
    read += bytes.length;
  });
  while (read < kept) await once(child.stdout, 'data');
});

test('a reader that is gone does not end the process', async (t) => {
  const { child, said } = logger();
  t.after(() => child.kill('SIGKILL'));
  child.stdout.destroy();
  const [text] = await said;
  assert.match(text, /^it lives/);
});
