import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { shardOf } from './keys.ts';

// Another hash would leave messages of an earlier version in shards where their targets are not read in order.
test('the shard of a target is the same in every version and language', () => {
  const file = join(import.meta.dirname, '../../reports/contract/shard.vectors.json');
  const vectors: [target: string, shards: number, shard: number][] = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(vectors.length > 0);
  for (const [target, shards, shard] of vectors) assert.equal(shardOf(target, shards), shard, target);
});

test('targets are spread evenly', () => {
  const shards = Array.from({ length: 10_000 }, (_, i) => shardOf(`user/${i}`, 8));
  for (let shard = 0; shard < 8; shard++) {
    const count = shards.filter((one) => one === shard).length;
    assert.ok(count > 1000 && count < 1500, `${count} of 10,000 in shard ${shard}`);
  }
});
