import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { remove, temporaryDirectory } from '../test/services.ts';
import { type StackFile, writeClientFiles } from './file.ts';

// Regression: curl cut the token off at its quote.
test("curl's file escapes quotes and backslashes", async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const mqtt = { url: 'mqtt://127.0.0.1:1', username: 'subscriber', password: 'secret' };
  const ingest = { url: 'http://127.0.0.1:2', token: String.raw`a"token\of-it` };
  await writeClientFiles(dir, { ingest, mqtt } as StackFile, '/of "mine"/ca.pem');
  const lines = (await readFile(join(dir, 'curl.conf'), 'utf8')).split('\n');
  assert.ok(lines.includes(String.raw`header = "Authorization: Bearer a\"token\\of-it"`), lines[1]);
  assert.ok(lines.includes(String.raw`cacert = "/of \"mine\"/ca.pem"`));
});
