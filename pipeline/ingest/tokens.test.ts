import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigError } from '../shared/config.ts';
import { eventually, remove, temporaryDirectory } from '../test/services.ts';
import { Tokens } from './tokens.ts';

const quiet = { info: () => {}, error: () => {} };
let dir: string;
let file: string;

before(async () => {
  dir = await temporaryDirectory();
  file = join(dir, 'tokens');
});
after(() => remove(dir));

test('only a bearer of one of the tokens is accepted', () => {
  const tokens = new Tokens('of-the-variable', undefined);
  for (const yes of ['Bearer of-the-variable', 'bearer of-the-variable', 'BEARER of-the-variable']) {
    assert.equal(tokens.accept(yes), true, yes);
  }
  const others = [
    '',
    'of-the-variable',
    'Bearer',
    'Bearer ',
    'Bearer of-the-variabl',
    'Basic of-the-variable',
  ];
  const longer = ['Bearer of-the-variable ', 'Bearer of-the-variable\u00ff', `Bearer ${'x'.repeat(5000)}`];
  for (const no of [undefined, ...others, ...longer]) assert.equal(tokens.accept(no), false, no);
});

test('the file adds tokens to the variable, without comments and blank lines', async () => {
  await writeFile(file, '# of the team\n\nfirst-token\r\n  second-token  \n');
  const tokens = new Tokens('of-the-variable', file);
  assert.equal(tokens.count, 3);
  for (const token of ['of-the-variable', 'first-token', 'second-token']) {
    assert.ok(tokens.accept(`Bearer ${token}`), token);
  }
  assert.ok(!tokens.accept('Bearer '));
  assert.ok(!tokens.accept('Bearer # of the team'));
});

test('a changed file is read without a restart, and an invalid one is ignored', async (t) => {
  await writeFile(file, 'first-token\n');
  const tokens = new Tokens(undefined, file);
  const logged: string[] = [];
  t.after(tokens.watch({ ...quiet, error: (line: string) => logged.push(line) }));
  await writeFile(`${file}.new`, 'second-token\n');
  await rename(`${file}.new`, file);
  await eventually(() => tokens.accept('Bearer second-token'), 'the new token');
  assert.ok(!tokens.accept('Bearer first-token'));

  await writeFile(file, 'no token\n');
  await eventually(() => logged.length > 0, 'the log line');
  assert.match(logged[0] as string, /whose line 1 is not a token.*the previous tokens stay in use/);
  assert.ok(tokens.accept('Bearer second-token'));
});

test('missing and invalid tokens are reported in one line', async () => {
  const wrong: [text: string | undefined, says: RegExp][] = [
    [undefined, /^INGEST_TOKENS_FILE is ".*", which cannot be read: ENOENT/],
    ['\n# none\n', /which holds no token; allowed: one token a line, 8 to 256 printable/],
    ['long-enough\nshort\n', /whose line 2 is not a token/],
  ];
  for (const [text, says] of wrong) {
    if (text !== undefined) await writeFile(file, text);
    const path = text === undefined ? join(dir, 'absent') : file;
    assert.throws(() => new Tokens('of-the-variable', path), oneLine(says));
  }
  assert.throws(
    () => new Tokens(undefined, undefined),
    oneLine(/^INGEST_TOKEN is not set, nor is INGEST_TO/),
  );
});

function oneLine(says: RegExp): (error: Error) => boolean {
  return (error) => error instanceof ConfigError && says.test(error.message) && !error.message.includes('\n');
}
