import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withFields } from '../request.ts';

test("the script's fields are added to a message, but only its payload replaces a field", () => {
  const message = { id: 'run.1.7', source: 'artillery', target: 'room/1', payload: 'xxxx' };
  const given = { payload: { user: '{{ user }}' }, target: 'no', tenant: 'a' };
  const both = { ...message, payload: given.payload, tenant: 'a' };
  assert.deepEqual(withFields(JSON.stringify(message), given), both);
  assert.deepEqual(withFields(JSON.stringify([message, message]), given), [both, both]);
  assert.deepEqual(withFields(JSON.stringify(message), {}), message);
});
