/** The table of the ends, against the schema, the documents and the pages that name them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { equation, failures, missedOf, said } from '../account.ts';
import table from '../contract/ends.json' with { type: 'json' };
import schema from '../contract/run.schema.json' with { type: 'json' };
import { ABOUT_END, type Account, BESIDE, COUNTS, ENDS, FAILED, MISSED, STAGES } from '../contract/run.ts';
import { golden } from './goldens.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

test('messages are named by the ends that failed, and deliveries by three counts beside them', () => {
  const { enum: kinds } = schema.$defs.messages.properties.named.items.properties.end;
  assert.deepEqual([...kinds].sort(), [...FAILED, 'duplicates', 'misdeliveries', 'negative'].sort());
});

test('each missed end is said', () => {
  for (const end of MISSED) {
    const account = withOne(end);
    assert.deepEqual(missedOf(account), [{ end, count: 1 }]);
    assert.ok(equation(account).includes(`1 ${said(end)}`));
    assert.equal(failures(account), FAILED.includes(end) ? `1 ${said(end)}` : null);
  }
});

test('an end names a stage of ours, or none', () => {
  const named = Object.entries(table.ends).flatMap(([, end]) => ('stage' in end ? end.stage : []));
  assert.ok(named.length > 0);
  assert.deepEqual(
    named.filter((stage) => !STAGES.includes(stage)),
    [],
  );
});

test('the documents name each count', () => {
  const grammar = /^ {4}count {6}= (.*?)^ {4}comparator/ms.exec(read('reports/README.md'))?.[1] ?? '';
  assert.deepEqual(
    [...grammar.matchAll(/"(\w+)"/g)].map(([, name]) => name).sort(),
    [...COUNTS].sort(),
    'the grammar of conditions',
  );
  const types = read('extensions/k6/arrival/index.d.ts');
  const metrics = [
    ...ENDS.filter((end) => !ABOUT_END[end].open),
    ...BESIDE.map(({ name }) => name).filter((name) => 'metric' in table.beside[name]),
  ];
  for (const name of metrics) assert.match(types, new RegExp(`\`(arrival)?_${name}\``), name);
  const replaced = [
    ...ENDS.filter((end) => ABOUT_END[end].judged === 'always'),
    ...BESIDE.map(({ name }) => name).filter((name) => 'judged' in table.beside[name]),
  ];
  const concepts = read('reports/CONCEPTS.md');
  const [, sum = ''] = /^ {4}scheduled = (.*)$/m.exec(concepts) ?? [];
  assert.deepEqual(sum.split(' + '), ENDS.filter((end) => !ABOUT_END[end].open).map(said), 'the equation');
  for (const name of replaced) {
    assert.ok(concepts.includes(`\`arrival_${name}\``), name);
    assert.ok(types.includes(`\`arrival_${name}\``), name);
  }
});

/** An account of which one message ended so, and all others arrived. */
function withOne(end: (typeof MISSED)[number]): Account {
  const { account } = golden('passing');
  return { ...account, arrived: account.scheduled - 1, [end]: 1 };
}
