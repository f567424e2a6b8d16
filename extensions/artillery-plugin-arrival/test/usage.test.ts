import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Usage } from '../usage.ts';

test('memory is in 10^6 bytes, as that of the pipeline: 2^20 are 5 % more', () => {
  const { rss_mb } = new Usage().cut();
  assert.ok(Math.abs((rss_mb as number) / (process.memoryUsage.rss() / 1e6) - 1) < 0.03);
});
