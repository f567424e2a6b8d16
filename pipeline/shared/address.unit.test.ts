import assert from 'node:assert/strict';
import { test } from 'node:test';
import vectors from '../../reports/contract/address.vectors.json' with { type: 'json' };
import { AddressError, type AddressKind, parseAddress } from './address.ts';

for (const { kind, address, refused, ...parts } of vectors) {
  const parse = () => parseAddress(kind as AddressKind, address);
  if (refused === undefined) {
    test(`an address is used as it is written: ${address}`, () => {
      assert.deepEqual(parse(), { username: '', password: '', database: 0, target: '', ...parts });
    });
  } else {
    test(`an address is refused, and its cause named: ${JSON.stringify(address)}`, () => {
      assert.throws(parse, (error: Error) => {
        assert.ok(error instanceof AddressError, error.stack);
        assert.ok(error.message.includes(refused), error.message);
        assert.ok(!error.message.includes('\n'));
        return true;
      });
    });
  }
}
