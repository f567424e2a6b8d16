import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { remove, temporaryDirectory } from './test/services.ts';
import { headOf, settingsOf, usageOf } from './usage.ts';

test('the settings that a script reads, by itself and by what it imports, with the defaults that are values', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const script = join(dir, 'script.js');
  await writeFile(
    join(dir, 'setting.js'),
    "const a = choice('CANARY', ['true', 'false']); const b = count('RATE', 7); __ENV.RUN_DIR; __ENV.MQTT_URL",
  );
  await writeFile(join(dir, 'more.js'), "export const more = flag('SAMPLED', false);");
  await writeFile(
    script,
    `// What does it do?
//   like this

import { setting } from './setting.js';
import { more } from './more.js';
const all = [number('RATE', 15_000, { min: 1 }), number('HOLD', all ? 1 : 2), __ENV.FILE || 'a.yml', __ENV.OTHER];
redis.call('XADD', 'x');
count('PLAIN', undefined);
`,
  );
  const { own, shared } = settingsOf(script);
  assert.deepEqual(Object.fromEntries(own), {
    ...{ RATE: '15000', HOLD: undefined, FILE: 'a.yml', OTHER: undefined, PLAIN: undefined },
    SAMPLED: 'false',
  });
  assert.deepEqual(Object.fromEntries(shared), { CANARY: 'true', RUN_DIR: undefined });
  assert.deepEqual(headOf(script), ['What does it do?', '  like this']);
  assert.match(
    usageOf(script),
    /^ {2}FILE \(a\.yml\), HOLD, OTHER, PLAIN, RATE \(15000\), SAMPLED \(false\)$/m,
  );
});
