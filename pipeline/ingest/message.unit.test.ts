import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import fc from 'fast-check';
import { HttpError } from './http-error.ts';
import { duplicateKey, elementsOf, LONGEST, MessageCheck, TARGET } from './message.ts';

const text = (more: object = {}) => Type.String({ maxLength: LONGEST, ...more });
const exactly = { additionalProperties: false };

/** The same rules as a schema. The hand-written check must agree with it. */
const schemaOf = (id: Record<string, TSchema>) =>
  Type.Object(
    {
      ...id,
      target: text({ pattern: TARGET.source }),
      source: Type.Optional(text()),
      payload: Type.Optional(Type.Unknown()),
    },
    exactly,
  );

const ids: [idKey: string, schema: TSchema][] = [
  ['id', schemaOf({ id: text({ minLength: 1 }) })],
  ['MsgID', schemaOf({ MsgID: text({ minLength: 1 }) })],
  ['meta.id', schemaOf({ meta: Type.Object({ id: text({ minLength: 1 }) }, exactly) })],
];

/** Valid, nearly valid and invalid values. */
const values = [
  'a',
  'user/1',
  'x'.repeat(128),
  'x'.repeat(129),
  'user//1',
  '/user',
  'user/',
  'user/#',
  'user/+',
  'a b',
  'ä',
  'user\n',
  '',
  0,
  17.5,
  true,
  null,
  [],
  ['a'],
  {},
  { id: 'a' },
  { id: '' },
  { id: 'a', other: 1 },
  { other: 'a' },
  undefined,
];
const keys = ['id', 'MsgID', 'meta', 'target', 'source', 'payload', 'other', '__proto__'];

for (const [idKey, schema] of ids) {
  test(`the check and the schema agree, with the id at ${idKey}`, () => {
    const compiled = TypeCompiler.Compile(schema);
    const check = new MessageCheck(idKey, 1000);
    const good = JSON.parse(`{"target":"user/1","source":"k6","payload":{"a":[1]}}`);
    if (idKey === 'meta.id') good.meta = { id: 'r.1.1' };
    else good[idKey] = 'r.1.1';
    // Replaces, removes or adds one or two fields of a valid message, with every value.
    let fits = 0;
    let compared = 0;
    const compare = (message: unknown) => {
      const wanted = compiled.Check(message);
      const found = problemOf(() => check.message(message)) === undefined;
      assert.equal(found, wanted, JSON.stringify(message));
      compared++;
      if (found) fits++;
    };
    for (const value of values) compare(value);
    for (const one of keys) {
      for (const value of values) {
        const message = changed(good, one, value);
        compare(message);
        for (const two of keys) for (const other of values) compare(changed(message, two, other));
      }
    }
    assert.ok(fits > 100 && compared - fits > 10_000, `${fits} of ${compared} fit`);
  });
}

const named: [name: string, message: unknown, field: string, says: RegExp][] = [
  ['no target', { id: 'a' }, 'target', /^target: is missing/],
  ['no id', { target: 'a' }, 'id', /^id: is missing/],
  ['an id that is not a string', { id: 17, target: 'a' }, 'id', /^id: is of type number; must be a string/],
  ['null', { id: 'a', target: null }, 'target', /is null/],
  ['an unknown field', { id: 'a', target: 'a', text: '' }, 'text', /^text: is not known/],
  ['a long unknown field', { ['x'.repeat(1e6)]: 1 }, `${'x'.repeat(LONGEST)}…`, /^x+…: is not known/],
  ['a string', 'a', '', /^body: is not an object/],
];
for (const [name, message, field, says] of named) {
  test(`the refusal names the field: ${name}`, () => {
    const check = new MessageCheck('id', 3);
    const alone = problemOf(() => check.message(message));
    assert.equal(alone?.statusCode, 400);
    assert.equal(alone?.field, field);
    assert.match(alone?.message ?? '', says);
    const second = problemOf(() => check.batch([{ id: 'a', target: 'b' }, message]));
    assert.equal(second?.field, field === '' ? '1' : `1.${field}`);
  });
}

test('the refusal names a nested id by its path', () => {
  const check = new MessageCheck('meta.id', 3);
  const field = (message: unknown) => problemOf(() => check.message(message))?.field;
  assert.equal(field({ target: 'a' }), 'meta');
  assert.equal(field({ target: 'a', meta: {} }), 'meta.id');
  assert.equal(field({ target: 'a', meta: { id: 'a', more: 1 } }), 'meta.more');
  assert.equal(field({ target: 'a', id: 'a' }), 'id');
});

test('a batch is an array of limited length', () => {
  const check = new MessageCheck('id', 3);
  const message = { id: 'a', target: 'b' };
  assert.equal(check.batch([message, message, message]).length, 3);
  const refused: [unknown, number][] = [
    [message, 400],
    [[], 400],
    [[message, [message]], 400],
    [Array(4).fill(message), 413],
  ];
  for (const [batch, status] of refused) {
    assert.equal(problemOf(() => check.batch(batch))?.statusCode, status);
  }
});

/** A copy with one field replaced; undefined removes it. */
function changed(message: object, key: string, value: unknown): object {
  const entries = Object.entries(message).filter(([name]) => name !== key);
  if (value !== undefined) entries.push([key, value]);
  // An assignment would treat __proto__ differently from JSON.
  return Object.fromEntries(entries);
}

function problemOf(check: () => unknown): HttpError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof HttpError, String(error));
    return error;
  }
}

// Regression: 65 emoji were "longer than 128 characters", as each counts as two in a string's length.
test('characters are counted, not their halves', () => {
  const check = new MessageCheck('id', 3);
  const emoji = (n: number) => '\u{1f600}'.repeat(n);
  for (const n of [65, 128]) check.message({ id: emoji(n), target: 'a', source: emoji(n) });
  for (const n of [129, 1000])
    assert.throws(() => check.message({ id: emoji(n), target: 'a' }), /^Error: id: is longer than 128/);
});

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

test('a key is given twice however it is written, and only then', () => {
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
