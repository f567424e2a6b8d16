import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { describe, IngestConfig, RelayConfig, StackConfig } from '../common/config.ts';
import { STACK_SETTINGS } from './settings.ts';

const README = join(import.meta.dirname, '../README.md');
const BLOCK = /^## Settings\n.*?^```\n(.*?)\n```$/ms;
const UPDATE = 'UPDATE=1 node --test pipeline/stack/readme.unit.test.ts';

const both = Object.keys(IngestConfig.properties).filter((name) => name in RelayConfig.properties);
const others = Object.keys(IngestConfig.properties).filter((name) => !both.includes(name));

/** What `npm run pipeline -- --help` lists, each once. */
const SETTINGS = [
  describe(StackConfig),
  `of each ingest and relay\n${describe(IngestConfig, new Set([...STACK_SETTINGS, ...others]))}`,
  `of each ingest\n${describe(IngestConfig, new Set([...STACK_SETTINGS, ...both]))}`,
  `of each relay\n${describe(RelayConfig, new Set([...STACK_SETTINGS, ...both]))}`,
].join('\n\n');

test(`pipeline/README.md lists the declared settings; update: ${UPDATE}`, async () => {
  const readme = await readFile(README, 'utf8');
  const [, block] = BLOCK.exec(readme) ?? [];
  assert.ok(block !== undefined, 'the block below the heading Settings is missing');
  if (process.env.UPDATE)
    await writeFile(
      README,
      readme.replace(block, () => SETTINGS),
    );
  else assert.equal(block, SETTINGS);
});
