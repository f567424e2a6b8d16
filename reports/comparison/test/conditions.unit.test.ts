import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { COUNTS } from '../../contract/run.ts';
import { ConditionError, parseCondition } from '../conditions.ts';
import { measureOf, RATES, SERIES, STATISTICS, unitOf } from '../measures.ts';

const of = (head: string, tails: readonly string[]) => tails.map((tail) => `${head}.${tail}`);
const NAMES = [
  ...SERIES.flatMap((series) => of(series, STATISTICS)),
  ...of('rate', RATES),
  ...of('account', COUNTS),
  'arrival.within(250ms)',
];
const names = fc.constantFrom(...NAMES);
const comparators = fc.constantFrom('>', '>=', '<', '<=');
const signs = fc.constantFrom('', '+', '-', '−');
const numbers = fc
  .tuple(fc.nat({ max: 1_000_000 }), fc.option(fc.nat({ max: 999 })))
  .map(([whole, rest]) => (rest === null ? `${whole}` : `${whole}.${rest}`));
const space = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 2 });

test('a condition is read as it is written, whatever spaces it has', () => {
  fc.assert(
    fc.property(
      names,
      comparators,
      signs,
      numbers,
      fc.constantFrom('none', 'own', '%'),
      space,
      (name, comparator, sign, number, unit, gap) => {
        const measure = measureOf(name);
        assert.ok(measure);
        const own = unitOf(measure);
        const written = unit === '%' || own === '%' ? '%' : unit === 'own' ? own : '';
        const isShare = written === '%' && own !== '%';
        // A percentage of the baseline needs a sign.
        fc.pre(!isShare || sign !== '');
        const text = [name, comparator, sign, number, written].join(gap);
        const condition = parseCondition(gap + text + gap);
        const value = Number(number) * (sign === '' || sign === '+' ? 1 : -1);
        assert.deepEqual(
          { ...condition, text: '', measure: condition.measure.name },
          {
            text: '',
            measure: measure.name,
            comparator,
            limit: written === '%' ? Number((value / 100).toPrecision(15)) : value,
            of: isShare ? 'share' : sign === '' ? 'value' : 'difference',
          },
        );
      },
    ),
  );
});

// Regression: `toString` as a measure was a TypeError.
test('any other text is refused in one line that names a column of it', () => {
  const pieces = fc.oneof(
    names,
    comparators,
    signs,
    numbers,
    space,
    fc.constantFrom('%', 'ms', '/s', '(', ')', 'x.', 'toString', 'constructor'),
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 8 }).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      try {
        parseCondition(text);
      } catch (error) {
        assert.ok(error instanceof ConditionError, String(error));
        const column = Number(/, column (\d+): /.exec(error.message.slice(text.length))?.[1]);
        assert.ok(column >= 1 && column <= text.length + 1, error.message);
      }
    }),
    { numRuns: 500 },
  );
});
