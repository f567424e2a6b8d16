import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandAt, scripts } from './commands.ts';

const files = readdirSync(join(import.meta.dirname, 'lua'));

test('each Lua file is a command', () => {
  assert.equal(Object.keys(scripts).length, files.length);
});

for (const [name, { lua, numberOfKeys }] of Object.entries(scripts)) {
  test(`the head of ${name} has its contract: each key, the arguments, what it returns, and what it never does`, () => {
    const head = lua
      .split('\n')
      .filter((line) => line.startsWith('-- '))
      .join('\n');
    const keysOf = (text: string) => [
      ...new Set([...text.matchAll(/KEYS\[(\d)\]/g)].map(([, key]) => Number(key))),
    ];
    const keys = Array.from({ length: numberOfKeys }, (_, n) => n + 1);
    assert.deepEqual([keysOf(head).toSorted(), keysOf(lua).toSorted()], [keys, keys]);
    for (const word of ['ARGV ', 'returns ', 'never ']) assert.ok(head.includes(`\n-- ${word}`), word);
  });
}

test('the command in a line of a script is found by the hash of the script', () => {
  const { lua } = scripts.joinGroup;
  const hash = createHash('sha1').update(lua).digest('hex');
  const line = lua.split('\n').findIndex((text) => text.includes("'XGROUP'"));
  assert.equal(commandAt(hash, line + 1), 'XGROUP');
  assert.equal(commandAt(hash, 1), undefined);
  assert.equal(commandAt('0'.repeat(40), line + 1), undefined);
});
