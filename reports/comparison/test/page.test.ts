/** The page of a comparison in a browser. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { main } from '../../main.ts';
import { Reader } from '../../test/browser.ts';
import { ran } from '../../test/command.ts';
import { chartOf, charts, zoomsByKeys, zoomsByMouse } from '../../test/looking.ts';
import { template } from '../../test/template.ts';
import { writePair } from './pair.ts';

let directory: string;
let reader: Reader;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'arrival-compare-'));
  await Promise.all([template('comparison'), writePair(directory)]);
  reader = await Reader.start();
});
after(async () => {
  await reader?.close();
  await rm(directory, { recursive: true });
});

test('the page works offline, and zooms by mouse and keyboard', async () => {
  const out = join(directory, 'offline.html');
  const compared = await ran(main, 'compare', join(directory, 'a'), join(directory, 'b'), '--out', out);
  assert.equal(compared.code, 0);
  await reader.read(await readFile(out, 'utf8'), async (page) => {
    const [one, other] = ['Arrival p99 over time', 'Arrival p50 over time'] as const;
    const within = page.getByRole('row', { name: /^arrival within 250 ms/ });
    assert.match(await within.innerText(), /99\.99 % → 99\.5 %[\s\S]*×0\.9951/);
    const drawn = await charts(page);
    assert.equal(drawn.length, 4);
    for (const { name, title, lines } of drawn) {
      assert.ok(
        lines.every(({ pixels }) => pixels > 40),
        name,
      );
      assert.match(title, /A [\d.]+\sms/, name);
    }
    const chart = chartOf(page, one);
    await chart.locator('.plot').focus();
    await zoomsByKeys(page, one, other);
    await chart.locator('summary').focus();
    await page.keyboard.press('Enter');
    await chart.locator('.data tbody tr').first().waitFor();
    await zoomsByMouse(page, one, other);
  });
});
