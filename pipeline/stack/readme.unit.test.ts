import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TSchema } from '@sinclair/typebox';
import { IngestConfig, RelayConfig, StackConfig } from '../common/config.ts';
import { OUR_OWN } from './settings.ts';

const README = join(import.meta.dirname, '../README.md');
const HEAD = '| setting | of | says | default |\n| --- | --- | --- | --- |\n';

/** The settings of the pipeline as `npm run pipeline -- --help` lists them, each once. */
function rows(): string[] {
  const own = Object.entries<TSchema>(StackConfig.properties).map(([name, said]) => row(name, '', said));
  const ingest: Record<string, TSchema> = IngestConfig.properties;
  const relay: Record<string, TSchema> = RelayConfig.properties;
  const further = Object.entries({ ...ingest, ...relay })
    .filter(([name]) => !OUR_OWN.has(name))
    .map(([name, said]) => {
      const of = name in ingest && name in relay ? 'ingest, relay' : name in ingest ? 'ingest' : 'relay';
      return row(name, of, said);
    });
  return [...own, ...further];
}

function row(name: string, of: string, { description, default: fallback = '' }: TSchema): string {
  return `| \`${name}\` | ${of} | ${description} | ${fallback} |`;
}

test('the table of settings is the declarations (write it anew: UPDATE=1 node --test pipeline/stack/readme.unit.test.ts)', async () => {
  const readme = await readFile(README, 'utf8');
  const [before = '', rest] = readme.split(HEAD, 2);
  assert.ok(rest !== undefined, `pipeline/README.md has no table that begins with\n${HEAD}`);
  const after = rest.replace(/^(\|.*\n)*/, '');
  const wanted = `${before}${HEAD}${rows().join('\n')}\n${after}`;
  if (process.env.UPDATE) await writeFile(README, wanted);
  assert.equal(await readFile(README, 'utf8'), wanted);
});
