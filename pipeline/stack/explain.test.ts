import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const EXPLAIN = join(import.meta.dirname, 'explain.ts');
/** A command that prints longer than anybody reads, and then has its work to end. */
const COMMAND = `
  const { exitAfter } = await import(${JSON.stringify(EXPLAIN)});
  const { setTimeout: sleep } = await import('node:timers/promises');
  async function work() {
    for (let n = 0; n < 50; n++) {
      console.log('a line');
      await sleep(10);
    }
    return 7;
  }
  exitAfter(work());
`;

// Regression: `npm run pipeline | head -1` ended with the stack trace of an EPIPE, and drained nothing.
test('a command whose output nobody reads any more comes to its own end', async () => {
  const pipe = '{ "$0" --input-type=module -e "$1"; echo "exit $?" >&2; } | head -1';
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', pipe, process.execPath, COMMAND]);
  assert.deepEqual([stdout, stderr], ['a line\n', 'exit 7\n']);
});
