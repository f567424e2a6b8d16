import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { claimed, idsOf } from '../test/entries.ts';
import { type Service, startRedis } from '../test/services.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

let service: Service;
let url: string;
let queue: MessageQueue;

before(async () => {
  ({ service, url } = await startRedis());
  queue = openQueue('stream', { url, timeoutMs: 20_000 });
  await queue.whenReady(20_000);
  await queue.join();
});

after(async () => {
  queue.close();
  await service.remove();
});

test('npm run pipeline -- dead-letters: lists, requeues and drops, and reports errors', async () => {
  for (const id of ['one', 'two', 'three'])
    await queue.append([{ body: JSON.stringify({ id }), target: 'a/b', stamps: '17,3' }]);
  for (const entry of await claimed(queue, 'c', 3)) await queue.bury(entry, 1, 'refused');
  const runWith = async (own: Record<string, string>, ...args: string[]) => {
    const env = { ...process.env, REDIS_URL: url, NO_COLOR: '1', ...own };
    const child = promisify(execFile)(process.execPath, [MAIN, 'dead-letters', ...args], { env });
    const { stdout, stderr, code } = await child.then(
      (done) => ({ ...done, code: 0 }),
      (error: { stdout: string; stderr: string; code: number }) => error,
    );
    return { out: stdout.trim().split('\n'), err: stderr.trim(), code };
  };
  const run = (...args: string[]) => runWith({}, ...args);
  const [table, unknown, requeued] = await Promise.all([
    run(),
    run('drop', 'nobody'),
    run('requeue', 'two', '--json'),
  ]);
  assert.equal(table.code, 0);
  assert.match(table.out[0] as string, /^\d+-\d+ {2}one {2}a\/b {2}\d+ \w+ ago {2}1 attempt: refused$/);
  assert.deepEqual([unknown.code, unknown.err], [1, 'no dead letter: nobody']);
  assert.deepEqual([requeued.code, JSON.parse(requeued.out[0] as string).done.length], [0, 1]);
  assert.deepEqual(idsOf((await queue.claim('c', 1)).entries), ['two']);
  const [wrong, dropped] = await Promise.all([run('burn'), run('drop', '--all')]);
  assert.deepEqual(
    [wrong.code, wrong.err],
    [1, 'dead-letters: there is no "burn"; allowed: list, requeue, drop'],
  );
  assert.deepEqual([dropped.code, dropped.out], [0, ['2 dropped']]);
  assert.deepEqual((await run('list', '--json')).out, ['']);

  // Regression: it looked only for `id`, and printed an id unescaped.
  const body = JSON.stringify({ meta: { id: 'red\u001b[31m\u009b' } });
  await queue.append([{ body, target: 'a', stamps: '' }]);
  for (const entry of await claimed(queue, 'c', 1)) await queue.bury(entry, 1, 'refused');
  const [elsewhere, printed] = await Promise.all([run(), runWith({ ID_KEY: 'meta.id' }, '--json')]);
  assert.match(elsewhere.out[0] ?? '', /\(no id\)/);
  assert.match(printed.out[0] ?? '', /"id":"red\\u001b\[31m\\u009b"/);
  const moved = await runWith({ ID_KEY: 'meta.id' }, 'drop', 'red\u001b[31m\u009b');
  assert.deepEqual([moved.code, moved.out], [0, ['1 dropped']]);
});
