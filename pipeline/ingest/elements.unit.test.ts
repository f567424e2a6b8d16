import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { duplicateKey, elementsOf } from './elements.ts';

test('the elements of an array keep their text', () => {
  const elements = [
    '{"id":"a","payload":{"n":12345678901234567890,"m":1.50,"e":1e400}}',
    '{\n  "b": [1, [2, {}], "]"]\n}',
    String.raw`{"c":"\\","d":"\"],[\\\"{","\u005b":"}"}`,
    '[]',
    '"é\u{1f600},"',
    '-0.0',
    'null',
  ];
  for (const between of [',', ' ,\r\n\t']) {
    const array = `\n[ ${elements.join(between)} ]\n`;
    assert.equal(JSON.parse(array).length, elements.length);
    assert.deepEqual(elementsOf(array), elements);
  }
  assert.deepEqual(elementsOf('[{}]'), ['{}']);
});

// Regression: {"id":"a","id":"b"} was taken as b, and travelled as both.
for (const [json, idKey, twice] of [
  ['{"id":"a","id":"b"}', 'id', 'id'],
  [String.raw`{"id":"a","\u0069d":"b"}`, 'id', 'id'],
  ['{ "target" : "a" , "id":"a", "target":"b"}', 'id', 'target'],
  ['{"payload":1,"id":"a","payload":{"id":1}}', 'id', 'payload'],
  ['{"meta":{"id":"a","id":"b"},"target":"a"}', 'meta.id', 'meta.id'],
  ['{"meta":{"id":"a"},"meta":{"id":"b"}}', 'meta.id', 'meta'],
  ['{"a":{"b":{"c":"1","c":"2"}}}', 'a.b.c', 'a.b.c'],
  ['{"id":"a","payload":{"id":"a","id":"b"}}', 'id', undefined],
  [
    '{"id":"id","source":"id\\":","target":"target","payload":[{"id":1},{"id":2,"target":3}]}',
    'id',
    undefined,
  ],
  ['{"meta":{"id":"a"},"payload":{"meta":{"id":1},"id":{"id":2,"id":3}}}', 'meta.id', undefined],
] as const) {
  test(`twice in ${json}: ${twice}`, () => {
    JSON.parse(json);
    assert.equal(duplicateKey(json, idKey.split('.')), twice);
  });
}

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });

test('the elements of any array keep their text', () => {
  const spaced = fc.tuple(space, fc.json(), space);
  const arrays = fc.tuple(space, fc.array(spaced, { minLength: 1 }), space);
  fc.assert(
    fc.property(arrays, ([before, elements, after]) => {
      const array = `${before}[${elements.map((parts) => parts.join('')).join(',')}]${after}`;
      assert.equal(JSON.parse(array).length, elements.length);
      assert.deepEqual(
        elementsOf(array),
        elements.map(([, json]) => json),
      );
    }),
  );
});

/** A key as somebody may write it. */
const written = (key: string, escaped: boolean) =>
  escaped
    ? `"${[...key].map((one) => [...Array(one.length).keys()].map((i) => `\\u${one.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')).join('')}"`
    : JSON.stringify(key);

test('a key is there twice however it is written, and only then', () => {
  const keys = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 5 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(keys, fc.nat(), fc.boolean(), fc.json(), space, (all, which, escaped, value, gap) => {
      const member = (key: string, how = false) => `${gap}${written(key, how)}${gap}:${gap}${value}${gap}`;
      assert.equal(duplicateKey(`{${all.map((key) => member(key)).join(',')}}`, ['id']), undefined);
      const twice = all[which % all.length] as string;
      const json = `{${[...all.map((key) => member(key)), member(twice, escaped)].join(',')}}`;
      JSON.parse(json);
      assert.equal(duplicateKey(json, ['id']), twice);
    }),
    { numRuns: 50 },
  );
});
