import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { LONGEST, MessageCheck, TARGET } from './message.ts';
import { Refusal } from './refusal.ts';

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
  ['an id that is no string', { id: 17, target: 'a' }, 'id', /^id: is of type number, wanted a string/],
  ['null', { id: 'a', target: null }, 'target', /is null/],
  ['an unknown field', { id: 'a', target: 'a', text: '' }, 'text', /^text: is not known/],
  ['a long unknown field', { ['x'.repeat(1e6)]: 1 }, `${'x'.repeat(LONGEST)}…`, /^x+…: is not known/],
  ['a string', 'a', '', /^body: is no object/],
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
  // Not by assignment, which treats __proto__ differently from JSON.
  return Object.fromEntries(entries);
}

function problemOf(check: () => unknown): Refusal | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
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
