/** The append-only file of a real Redis: what it has after a kill, and damages. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { leftIn, openQueue } from '../queue/open.ts';
import { PipelineCommand, refusalOf } from '../test/command.ts';
import { remove, temporaryDirectory } from '../test/services.ts';
import { REDIS_USERS, secrets, urls } from './access.ts';
import { claimDirectory } from './directory.ts';
import { DAEMON_PATH } from './launch.ts';
import { freePort } from './ports.ts';
import { Supervised } from './process.ts';
import { prepareRedis } from './services.ts';

const MESSAGES = 300;
const INCR = 'appendonlydir/appendonly.aof.1.incr.aof';
const SECOND = 'appendonlydir/appendonly.aof.2.incr.aof';
const BASE = 'appendonlydir/appendonly.aof.1.base.rdb';
const MANIFEST = 'appendonlydir/appendonly.aof.manifest';
const WITHIN_MS = 60_000;

let dir: string;
let data: string;

before(async () => {
  dir = await temporaryDirectory();
  const redis = await startRedis(join(dir, 'whole'));
  const queue = openQueue('stream', { url: redis.ingest, timeoutMs: WITHIN_MS });
  await queue.whenReady(WITHIN_MS);
  // Three in an entry.
  for (let i = 0; i < MESSAGES; i += 3) {
    const ids = [i, i + 1, i + 2];
    await queue.append(ids.map((id) => ({ body: JSON.stringify({ id }), target: 'a', stamps: '' })));
  }
  queue.close();
  await redis.process.stop();
});
after(() => remove(dir));

beforeEach(async () => {
  data = join(dir, `data-${Math.random().toString(36).slice(2)}`);
  await cp(join(dir, 'whole'), data, { recursive: true });
});

async function startRedis(of: string, env: Record<string, string> = {}) {
  const port = await freePort();
  const passwords = secrets(REDIS_USERS);
  const launch = await prepareRedis(dir, port, passwords, undefined, '127.0.0.1', of);
  const process = await Supervised.start({ ...launch, env }, { logs: dir });
  await process.says(/Ready to accept connections/, WITHIN_MS);
  return { process, ...urls(passwords, `redis://127.0.0.1:${port}/0`) };
}

/** The messages that Redis finds in the files. */
async function readable(t: TestContext): Promise<number> {
  const redis = await startRedis(data);
  t.after(() => redis.process.stop());
  const { messages } = await leftIn(redis.stack, WITHIN_MS);
  await redis.process.stop();
  return messages;
}

const sizeOf = async (file: string) => (await stat(join(data, file))).size;

async function overwrite(file: string, at: number, text: string): Promise<void> {
  const bytes = await readFile(join(data, file));
  bytes.write(text, at, 'latin1');
  await writeFile(join(data, file), bytes);
}

const zeros = async () => appendFile(join(data, INCR), Buffer.alloc(4096));

/** A library that makes each flush to the disk take 3 s. */
const SLOW = `#include <unistd.h>
int fdatasync(int fd) { (void)fd; return (int)sleep(3); }
int fsync(int fd) { return fdatasync(fd); }
`;
const compiler = spawnSync('cc', ['--version']).status === 0 && process.platform === 'linux';
const skip = compiler ? false : 'there is no C compiler (cc), or another way to preload';

// Regression: with everysec Redis kept back what it wrote while a flush was slow: a killed one lost 1,202 of 52,000 messages.
test('a killed Redis has all that it acknowledged, however slow the disk is', { skip }, async (t) => {
  const library = join(dir, 'slow.so');
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-x', 'c', '-', '-o', library], { input: SLOW });
  assert.equal(status, 0);
  data = join(dir, 'slow');
  const redis = await startRedis(data, { LD_PRELOAD: library });
  t.after(() => redis.process.stop());
  const queue = openQueue('stream', { url: redis.ingest, timeoutMs: WITHIN_MS });
  t.after(() => queue.close());
  await queue.whenReady(WITHIN_MS);
  let acknowledged = 0;
  const append = () => queue.append([{ body: `{"id":${acknowledged++}}`, target: 'a', stamps: '' }]);
  await append();
  // By now a flush that comes each second has begun. It lasts while the others are written.
  await sleep(1100);
  for (const end = Date.now() + 800; Date.now() < end; await append()) await sleep(20);
  redis.process.signal('SIGKILL');
  await redis.process.ended;
  assert.equal(await readable(t), acknowledged);
});

/** A directory of a pipeline with the data, which are there from now on. */
async function stackDirectory(): Promise<string> {
  const STACK_DIR = await mkdtemp(join(dir, 'stack-'));
  (await claimDirectory(STACK_DIR))();
  await cp(data, join(STACK_DIR, 'redis'), { recursive: true });
  data = join(STACK_DIR, 'redis');
  return STACK_DIR;
}

const byItself: [name: string, damage: () => Promise<void>, left: number][] = [
  ['whole files', async () => {}, MESSAGES],
  ['two files of writes', split, MESSAGES],
  // Redis cuts it off by itself (aof-load-truncated). It is a second old at most.
  [
    'an incomplete last write',
    async () => truncate(join(data, INCR), (await sizeOf(INCR)) - 5),
    MESSAGES - 3,
  ],
];
for (const [name, damage, left] of byItself) {
  test(`the next pipeline delivers what an earlier one accepted: ${name}`, async (t) => {
    await damage();
    const command = new PipelineCommand(t, { STACK_DIR: await stackDirectory() });
    await command.ready();
    assert.match(command.output, new RegExp(`^${left} messages .*will be delivered`, 'm'));
    assert.equal(await command.stop('SIGINT'), 0);
  });
}

/** Moves the second half of the writes into a file of its own, as while Redis writes a new base. */
async function split(): Promise<void> {
  const bytes = await readFile(join(data, INCR));
  const at = bytes.indexOf('*1\r\n$5\r\nMULTI\r\n', Math.floor(bytes.length / 2));
  assert.ok(at > 0);
  await writeFile(join(data, INCR), bytes.subarray(0, at));
  await writeFile(join(data, SECOND), bytes.subarray(at));
  await appendFile(join(data, MANIFEST), 'file appendonly.aof.2.incr.aof seq 2 type i\n');
}

const inTheMiddle = async () => overwrite(INCR, Math.floor((await sizeOf(INCR)) / 2), 'X'.repeat(60));
const refused: [name: string, damage: () => Promise<void>, says: RegExp][] = [
  [
    'damage in the middle',
    inTheMiddle,
    /1\.incr\.aof is damaged at byte [\d,]+ of [\d,]+, .*--fix \S+manifest cuts off the last [\d,]+ bytes/,
  ],
  ['zeros at the end', zeros, /cuts off the last 4,096 bytes/],
  ['the first of two files', async () => split().then(inTheMiddle), /redis-check-aof cannot repair them/],
  ['a damaged base', () => overwrite(BASE, 20, 'X'.repeat(9)), /redis-check-aof cannot repair them/],
  ['a file that is missing', () => rm(join(data, INCR)), /redis-check-aof cannot repair them/],
  [
    'an empty manifest',
    () => writeFile(join(data, MANIFEST), ''),
    /manifest, the list of its files, is missing or empty/,
  ],
  // Regression: Redis started without its data, and the stack removed them.
  [
    'no manifest',
    () => rm(join(data, MANIFEST)),
    /appendonly\.aof\.manifest, the list of its files, is missing or empty/,
  ],
];
for (const [name, damage, says] of refused) {
  test(`refused in one line, and nothing changed: ${name}`, async () => {
    await damage();
    const STACK_DIR = await stackDirectory();
    const files = async () => {
      const names = (await readdir(join(data, 'appendonlydir'))).sort();
      return Promise.all(
        names.map(async (file) => [file, await readFile(join(data, 'appendonlydir', file))]),
      );
    };
    const before = await files();
    const line = (await refusalOf({ STACK_DIR })).trim().split('\n').at(-1) ?? '';
    assert.match(line, says);
    assert.match(line, /--fresh starts without them/);
    assert.deepEqual(await files(), before);
  });
}

test('the command that the refusal names brings back what is before the damage', async (t) => {
  await inTheMiddle();
  const { status } = spawnSync('redis-check-aof', ['--fix', join(data, MANIFEST)], {
    input: 'y\n',
    env: { PATH: DAEMON_PATH },
  });
  assert.equal(status, 0);
  const found = await readable(t);
  assert.ok(found > 0 && found < MESSAGES, String(found));
});
