import assert from 'node:assert/strict';
import { test } from 'node:test';
import { like, numberOf, readFlags } from './flags.ts';

const options = { rate: { type: 'string' }, list: { type: 'boolean' } } as const;

test('readFlags reads flags, --help and positionals', () => {
  assert.deepEqual({ ...readFlags(['--rate', '5', '-h'], options).values }, { rate: '5', help: true });
  assert.deepEqual(readFlags(['a', '--list'], options, true).positionals, ['a']);
});

// Regression: each command had its own message for an unknown flag, mostly without the allowed ones.
test('the error for an unknown flag or word names the nearest and all allowed flags', () => {
  for (const [args, message] of [
    [['--raet', '5'], '--raet is not known, --rate is; allowed: --rate, --list, --help'],
    [['--bogus'], '--bogus is not known; allowed: --rate, --list, --help'],
    [['-e'], '-e is not known; allowed: --rate, --list, --help'],
    [['RATE=5'], 'RATE=5 is not known; allowed: --rate, --list, --help'],
  ] as const)
    assert.throws(() => readFlags(args, options), { name: 'ConfigError', message });
  assert.throws(
    () => readFlags(['--rate', '5', '--rate=6'], options),
    /^ConfigError: --rate is given twice$/,
  );
  assert.throws(
    () => readFlags(['--rate'], options),
    /^ConfigError: Option '--rate <value>'.*--list, --help$/,
  );
});

test('the error suggests the nearest known name', () => {
  assert.equal(like('RAET', ['CANARY', 'RATE']), ', RATE is');
  assert.equal(like('P9', ['P99']), ', P99 is');
  assert.equal(like('RATE', ['GATHER', 'CANARY']), '');
  assert.equal(like('--what', ['--out']), '');
  assert.equal(like('RATE', []), '');
});

test('a number must be in its range', () => {
  assert.equal(numberOf('rate', '5', { least: 1, most: 9 }), 5);
  assert.equal(numberOf('rate', '0.5', { least: 0, most: 9, broken: true }), 0.5);
  assert.equal(numberOf('most', '0', { least: 5, most: 9, or: '0' }), 0);
  for (const text of ['', '0', '10', '1.5', 'x'])
    assert.throws(() => numberOf('rate', text, { least: 1, most: 9 }), {
      message: `--rate is "${text}"; allowed: whole numbers from 1 to 9`,
    });
});
