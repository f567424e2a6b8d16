import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { LEAVE } from './http.ts';

const POSTER = join(import.meta.dirname, '../../extensions/k6/internal/send/link.go');

// Regression: one request of a thousand was reset as ingests were replaced. An ingest closed idle connections after 1 s.
test('clients have longer to leave than the sender keeps an idle connection', async () => {
  const [, kept] = /idleMost = (\d+) \* time\.Second/.exec(await readFile(POSTER, 'utf8')) ?? [];
  assert.ok(LEAVE.reusedMs > 1000 * Number(kept));
  assert.ok(LEAVE.withinMs > LEAVE.reusedMs);
});
