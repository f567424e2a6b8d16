import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elementsOf } from './elements.ts';

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
