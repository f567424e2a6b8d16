import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { rolldown } from 'rolldown';
import { parse } from 'yaml';
import { every, ownPipeline } from '../lib/declarations.js';
import { OF_A_RUN, schemaOf } from './pipeline-schema.ts';

const ROOT = join(import.meta.dirname, '../..');
const FILE = 'extensions/k6/internal/settings/pipeline.schema.json';

test(`${FILE} matches the declarations (to update it: UPDATE=1 node --test scenarios/run/pipeline-schema.unit.test.ts)`, async () => {
  const text = `${JSON.stringify(schemaOf(), null, 2)}\n`;
  const path = join(ROOT, FILE);
  if (process.env.UPDATE) await writeFile(path, text);
  assert.equal(await readFile(path, 'utf8'), text);
});

const BUNDLE = 'extensions/k6/internal/command/try.gen.js';

test(`${BUNDLE} matches scenarios/lib/try.js and what it imports (to update it: UPDATE=1 node --test scenarios/run/pipeline-schema.unit.test.ts)`, async () => {
  const bundle = await rolldown({ input: join(ROOT, 'scenarios/lib/try.js'), external: /^k6/, cwd: ROOT });
  const { output } = await bundle.generate({ comments: false, minify: true });
  const text = `// Generated from scenarios/lib/try.js; do not edit.\n${output[0].code}`;
  await bundle.close();
  if (process.env.UPDATE) await writeFile(join(ROOT, BUNDLE), text);
  assert.equal(await readFile(join(ROOT, BUNDLE), 'utf8'), text);
});

test('a pipeline file has each setting of a pipeline of your own', () => {
  const text = JSON.stringify(schemaOf());
  const all = Object.keys({ ...every(), ...ownPipeline() }).filter((name) => !OF_A_RUN.includes(name));
  for (const name of all) assert.ok(text.includes(`"x-setting":"${name}"`), name);
});

test('an editor accepts a pipeline file, and marks what is wrong', () => {
  const validate = new Ajv2020({ strict: false }).compile(schemaOf());
  const good = [
    'ingest: { url: http://h, token: $TOKEN, timeout: 5, headers: { x-tenant: 7 } }\ntargets: [a, b]',
    'ingest: { url: $URL, timeout: $TIMEOUT, keepAlive: false }\ntargets: 5\nverify: 1\ncanary: off',
    'ingest: { url: http://h }\narrive: { mqtt: { url: mqtt://h, version: 5, qos: 0 } }\nstages: [request, api]',
  ];
  for (const text of good) assert.ok(validate(parse(text)), `${text} ${JSON.stringify(validate.errors)}`);
  const bad = [
    'ingest: { url: http://h, token: hunter2 }',
    'ingest: { url: http://h, pth: /x }',
    'ingest: { url: http://h, timeout: soon }',
    'ingest: { url: http://h }\narrive: { mqtt: { url: mqtt://h }, sse: { url: http://h } }',
    'body: x',
    'ingest: { url: http://h }\ndeliveries: 99',
  ];
  for (const text of bad) assert.ok(!validate(parse(text)), text);
});
