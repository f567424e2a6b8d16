import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedIn, type Hook, reporting, watched } from '../hooks.ts';

/** Runs a watched hook. @returns the error for Artillery, and what was reported */
async function outcome(
  hook: Hook,
): Promise<{ error: Error | undefined; reported: string[]; args: unknown[] }> {
  const reported: string[] = [];
  let args: unknown[] = [];
  const mine = watched('sign', hook, async (message, ...given) => {
    reported.push(message);
    args = given;
  });
  const error = await new Promise<Error | undefined>((resolve) =>
    mine('params', 'context', 'events', resolve),
  );
  return { error, reported, args };
}

test('a hook that fails is reported with its name, however it fails', async () => {
  const no = new Error('no key');
  const failing: Hook[] = [
    (_p, _c, _e, next) => next(no),
    (_p, _c, _e, next) => setImmediate(next, no),
    async () => Promise.reject(no),
    () => {
      throw no;
    },
  ];
  for (const hook of failing) {
    const { error, reported, args } = await outcome(hook);
    assert.equal(error, no);
    assert.deepEqual(reported, ['the hook sign failed: no key']);
    assert.deepEqual(args, ['params', 'context', 'events']);
  }
});

test('a hook that ends well, or ends twice, is not reported', async () => {
  const well: Hook[] = [
    (_p, _c, _e, next) => next(),
    async () => {},
    (_p, _c, _e, next) => {
      next();
      next(new Error('again'));
    },
  ];
  for (const hook of well)
    assert.deepEqual(await outcome(hook), { error: undefined, reported: [], args: [] });
});

// Regression: it counted as one that ends well, and its request was sent.
test('a hook that rejects without a reason is reported', async () => {
  const { error, reported } = await outcome(async () => Promise.reject());
  assert.match(String(error), /without a reason/);
  assert.equal(reported.length, 1);
});

test('a hook that never calls back fails in the end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const ended = outcome(() => {});
  t.mock.timers.tick(30_000);
  assert.match((await ended).reported[0] ?? '', /sign failed: it did not call back within 30 s/);
});

test('what a hook changes, and the plugin or Artillery would replace, is named', () => {
  const expected = { url: 'http://arrival.invalid/messages', id: 'meta.id', closed: false };
  const given = { uuid: '1', url: expected.url, method: 'POST' };
  for (const good of [{}, { json: { a: 1 } }, { headers: { a: 'b' } }, { timeout: 3 }])
    assert.equal(changedIn({ ...given, ...good }, expected), undefined);
  const changes: [change: object, says: RegExp][] = [
    [{ url: 'http://elsewhere/' }, /set the url http:\/\/elsewhere/],
    [{ method: 'PUT' }, /set the method PUT/],
    [{ uri: '/x' }, /set uri/],
    [{ auth: { user: 'a' } }, /set auth/],
    [{ cookie: { a: 'b' } }, /set cookie/],
    [{ body: 'text' }, /set a body that is not a map/],
    [{ json: [1] }, /set a body that is not a map/],
    [{ json: { meta: { tenant: 1 } } }, /json with meta/],
    [{ json: { target: 'x' } }, /json with target/],
  ];
  for (const [change, says] of changes)
    assert.match(changedIn({ ...given, ...change }, expected) ?? '', says);
  assert.equal(
    changedIn({ ...given, cookie: { a: 'b' } } as never, { ...expected, closed: true }),
    undefined,
  );
});

// Regression: Artillery ignores what an async hook returns, and here it was taken for the hook's error: the request was not sent.
test('what an async hook returns is no error', async () => {
  const failures: unknown[] = [];
  const ended = (hook: Hook) =>
    new Promise((next) => reporting(hook, (error) => failures.push(error))({}, next));
  assert.equal(await ended(async () => ({ token: 'x' })), undefined);
  assert.deepEqual(failures, []);
  assert.match(String(await ended(async () => Promise.reject(new Error('none')))), /none/);
  assert.match(String(await ended(async () => Promise.reject())), /without a reason/);
  assert.equal(failures.length, 2);
});
