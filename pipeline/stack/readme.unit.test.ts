import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { describe, IngestConfig, RelayConfig, StackConfig } from '../common/config.ts';
import { OUR_OWN } from './settings.ts';

const README = join(import.meta.dirname, '../README.md');
const HEAD = '\n## Settings\n';
const UPDATE = 'UPDATE=1 node --test pipeline/stack/readme.unit.test.ts';

/** What `npm run pipeline -- --help` lists. */
const SETTINGS = [
  describe(StackConfig),
  `of each ingest\n${describe(IngestConfig, OUR_OWN)}`,
  `of each relay\n${describe(RelayConfig, OUR_OWN)}`,
].join('\n\n');

test(`the settings of pipeline/README.md are the declarations; write them: ${UPDATE}`, async () => {
  const readme = await readFile(README, 'utf8');
  const [before = '', after] = readme.split(HEAD);
  assert.ok(after !== undefined, 'the heading Settings is missing');
  const wanted = after.replace(/^```\n.*?^```$/ms, () => `\`\`\`\n${SETTINGS}\n\`\`\``);
  if (process.env.UPDATE) await writeFile(README, before + HEAD + wanted);
  assert.equal(after, wanted);
});
