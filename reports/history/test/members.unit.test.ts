import assert from 'node:assert/strict';
import { test } from 'node:test';
import { golden } from '../../test/goldens.ts';
import { members } from '../members.ts';

test('complete members are found wherever the text is cut off', () => {
  const object = { 'a"b\\': 'x}]"\\', n: -1.5e3, list: [{ deep: ['{', null] }], '': {}, yes: true };
  for (const text of [JSON.stringify(object), ` ${JSON.stringify(object, null, 2)}\n`]) {
    for (let length = 0; length <= text.length; length++) {
      const { complete } = members(text.slice(0, length));
      for (const [name, value] of complete) {
        assert.deepEqual(JSON.parse(value), object[name as keyof typeof object], `${length} ${name}`);
      }
    }
    assert.deepEqual([...members(text).complete.keys()], Object.keys(object));
  }
});

test('the members of a run are those of its parsed JSON', () => {
  const run = golden('hostile');
  const { complete } = members(JSON.stringify(run));
  assert.deepEqual(Object.fromEntries([...complete].map(([name, text]) => [name, JSON.parse(text)])), run);
});

test('text that is not an object has no members', () => {
  for (const text of ['', '[1]', '"x"', '{', '{"a', '{"a"', '{"a":', '{a: 1}', 'null']) {
    assert.equal(members(text).complete.size, 0, text);
  }
});
