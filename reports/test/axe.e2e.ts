/** axe-core finds nothing on any page. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { compare, comparisonOf } from '../comparison/compare.ts';
import { renderComparison } from '../comparison/page.ts';
import { readRecording } from '../comparison/recording.ts';
import { grouped } from '../comparison/subjects.ts';
import { writePair } from '../comparison/test/pair.ts';
import {
  grow,
  writeChanged,
  writeComparable,
  writeLive,
  writeSweeps,
  writeTrend,
  writeWordy,
} from '../history/test/runs.ts';
import { Visitor } from '../history/test/visitor.ts';
import { writeReferee } from '../referee/page.ts';
import { madeResult } from '../referee/test/made.ts';
import { Reader } from './browser.ts';
import { golden } from './goldens.ts';
import { chartOf, overflow } from './looking.ts';
import { messagesRun, wordy } from './odd.ts';
import { SPANS, withSpans } from './spans.ts';
import { template } from './template.ts';

const AXE = new URL(import.meta.resolve('axe-core/axe.min.js'));

/** Asserts that axe-core finds nothing. A violation is a rule with its first element. */
async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(await readFile(AXE, 'utf8'));
  const found = await page.evaluate(async () => {
    // What was opened is sized in the next frame, and then reached by keyboard where it scrolls.
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    await frame();
    await frame();
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
  });
  assert.deepEqual(found, []);
}

describe('the page of a run is accessible', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  for (const [name, colorScheme] of [
    ['closed', 'dark'],
    ['hostile', 'light'],
  ] as const) {
    test(`${name}, ${colorScheme}, with an open table`, async () => {
      await reader.read(
        golden(name),
        async (page) => {
          await page.locator('.data summary').first().press('Enter');
          await assertAccessible(page);
        },
        { colorScheme },
      );
    });
  }

  test('with an account that opened by itself', async () => {
    await reader.read(golden('failing'), async (page) => {
      await page.locator('header details.line .equation').waitFor();
      await assertAccessible(page);
    });
  });

  test('with messages, and when they are sorted', async () => {
    await reader.read(messagesRun(), async (page) => {
      await page.locator('#messages tbody tr').nth(3).waitFor();
      await assertAccessible(page);
      for (const head of ['longest stage', 'id'])
        await page
          .locator('#messages')
          .getByRole('button', { name: head, exact: true })
          .first()
          .press('Enter');
      await page.locator('#messages th[aria-sort]').first().waitFor();
      await assertAccessible(page);
    });
  });

  test('with long reasons, expanded', async () => {
    await reader.read(wordy(), async (page) => {
      for (const place of ['.verdict li', '#trust > .scroll', '.errors .scroll'])
        await page.locator(`${place} .long summary`).first().press('Enter');
      await assertAccessible(page);
    });
  });

  test('with stages by spans', async () => {
    await reader.read(withSpans(SPANS), assertAccessible);
  });
});

describe('the page of a comparison is accessible', () => {
  let reader: Reader;
  let directory: string;
  let built: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'arrival-axe-'));
    await writePair(directory);
    built = await template('comparison');
    reader = await Reader.start();
  });
  after(async () => {
    await reader?.close();
    await rm(directory, { recursive: true });
  });
  const recordings = (...names: string[]) =>
    Promise.all(names.map((name) => readRecording(join(directory, name))));

  test('with an open table of a chart', async () => {
    const html = renderComparison(compare(await recordings('a', 'b')), built);
    await reader.read(html, async (page) => {
      await chartOf(page, 'Arrival p99 over time').locator('summary').press('Enter');
      await assertAccessible(page);
    });
  });

  test('with additional tables', async () => {
    const comparison = compare(await recordings('a', 'b'));
    const [head, rows] = [['figure', 'k6', 'allowed'], [['<b>p50</b>', '1.0', '±0.2']]];
    comparison.additions = [{ title: 'Agreement', caption: 'ms', head, rows, notes: ['They do.'] }];
    await reader.read(renderComparison(comparison, built), assertAccessible);
  });

  test('with failed messages', async () => {
    const refusing = { run: golden('refusing'), histograms: new Map() };
    const groups = grouped([...(await recordings('a')), refusing], false);
    const comparison = comparisonOf(groups, { allowFailed: true });
    await reader.read(renderComparison(comparison, built), assertAccessible);
  });
});

test('the page of the referee is accessible', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'arrival-axe-'));
  const reader = await Reader.start();
  t.after(async () => {
    await reader.close();
    await rm(directory, { recursive: true });
  });
  await template('referee');
  const html = await readFile(await writeReferee(directory, madeResult()), 'utf8');
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    const look = async (page: Page) => {
      await page.locator('.data summary').first().press('Enter');
      await assertAccessible(page);
    };
    await reader.read(html, look, { colorScheme, viewport: { width, height: 900 } });
  }
});

describe('the history is accessible', () => {
  let visitor: Visitor;
  before(async () => {
    visitor = await Visitor.start(60);
  });
  after(() => visitor?.close());

  test('the list, filtered', async () => {
    await visitor.visit('/', async (page) => {
      await page.getByLabel('Find').fill('run-005 incomplete');
      await page.getByRole('heading', { name: '10 of 60 runs' }).waitFor();
      await assertAccessible(page);
    });
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`the list on a narrow screen, ${colorScheme}`, async () => {
      await visitor.visit(
        '/',
        async (page) => {
          await page.getByLabel('Find').fill('run-000');
          await page.getByRole('heading', { name: '10 of 60 runs' }).waitFor();
          await assertAccessible(page);
          assert.ok((await overflow(page)) <= 0);
        },
        { viewport: { width: 390, height: 800 }, colorScheme },
      );
    });
  }

  test('a comparison of runs that are not comparable', async () => {
    await writeComparable(visitor.root, ['mouse-a', 'mouse-b', 'mouse-c']);
    await visitor.visit('/compare?run=mouse-a&run=mouse-b&run=mouse-c', async (page) => {
      await page.locator('.differences tbody tr').first().waitFor();
      await assertAccessible(page);
    });
  });

  test('the trend of a script, as a table, on a phone', async () => {
    await writeTrend(visitor.root);
    await visitor.visit('/?script=trending&sort=started&ascending=true', async (page) => {
      await page.locator('.trend canvas').waitFor();
      await page.getByText('as a table').click();
      await page.setViewportSize({ width: 390, height: 800 });
      await assertAccessible(page);
    });
  });

  test('a lasting change of p99, at 800 px', async () => {
    await writeChanged(visitor.root);
    await visitor.visit('/?script=turned', async (page) => {
      await page.locator('.lasting').waitFor();
      await page.setViewportSize({ width: 800, height: 900 });
      await assertAccessible(page);
    });
  });

  test('a comparison with a long reason, expanded', async () => {
    await writeWordy(visitor.root);
    await visitor.visit('/compare?run=wordy-1&run=wordy-2&allow-failed=true', async (page) => {
      await page.locator('.reasons .long summary').first().press('Enter');
      await assertAccessible(page);
    });
  });

  test('a comparison of sweeps', async () => {
    await writeSweeps(visitor.root);
    await visitor.visit('/compare?run=sweep-0&run=sweep-1', async (page) => {
      await page.getByRole('heading', { name: 'Sweep of concurrency' }).waitFor();
      await assertAccessible(page);
    });
  });

  test('the page of a run in progress', async () => {
    const { run, directory } = await writeLive(visitor.root);
    await grow(directory, `${JSON.stringify({ ...run.timeline[0], t: 20, rejected: 700, failed: 34 })}\n`);
    await visitor.visit('/live/live', async (page) => {
      await page.getByRole('heading', { name: '0:21' }).waitFor();
      await page.locator('canvas').nth(4).waitFor();
      await assertAccessible(page);
    });
  });
});
