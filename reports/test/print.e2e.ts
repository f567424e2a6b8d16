/** Pages on paper. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import type { Page } from 'playwright-core';
import { findChromium } from '../chromium.ts';
import { count } from '../format.ts';
import { Visitor } from '../history/test/visitor.ts';
import { writeReferee } from '../referee/page.ts';
import type { Referee } from '../referee/result.ts';
import { madeResult } from '../referee/test/made.ts';
import { Reader } from './browser.ts';
import { golden } from './goldens.ts';
import { charts } from './looking.ts';
import { wordy } from './odd.ts';
import { SPANS, withSpans } from './spans.ts';
import { template } from './template.ts';

/** The margin of a sheet in the page's styles, in points: 12 mm, less 1 for rounding. */
const MARGIN = 33;
const MOST_SHEETS = 7;

describe('the page of a run on paper', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  for (const name of ['passing', 'closed'] as const) {
    test(`${name}: prints on a few sheets, the answer first, with nothing cut off or shrunk`, async () => {
      const run = golden(name);
      const due = '2026-11-21T09:48:10.000001Z';
      const slow = {
        id: 'k3v9x2ab.1.76319',
        target: 'user/16',
        flow: 'direct',
        phase: 'ramp',
        subscriber: 2,
        due,
      };
      run.messages = {
        slowest: Array(40).fill({
          ...slow,
          arrival_ms: 88.1,
          stages_ms: { queue: 80, relay: 8.1 },
          longest: 'queue',
        }),
        named: [],
      };
      await reader.read(run, async (page) => {
        const sheets = await printed(page);
        assert.ok(sheets.length >= 2 && sheets.length <= MOST_SHEETS, `${sheets.length} sheets`);
        numberedAndWhole(sheets);
        assert.match(sheets.at(-1)?.text ?? '', /Glossary/, 'the last sheet has more than a few lines');
        const first = sheets[0]?.text ?? '';
        for (const said of [
          ...[run.run.name, run.verdict.result, count(run.account.scheduled)],
          `It balances: the ends add up to ${count(run.account.scheduled)}`,
        ])
          assert.ok(first.includes(said), said);
        const whole = sheets.map(({ text }) => text).join(' ');
        for (const { title } of await charts(page)) {
          assert.ok(whole.includes(title.replaceAll('\u00a0', ' ')), title);
        }
        assert.deepEqual(await cutOff(page), []);
      });
    });
  }

  for (const name of ['passing', 'closed'] as const) {
    test(`${name}: the browser’s command line prints all sections and charts`, async () => {
      const { page, url } = await reader.open(golden(name));
      try {
        const whole = (await printedByCommand(url)).map(({ text }) => text).join(' ');
        const headings = await page.locator('h1, h2:visible, h3:visible').allInnerTexts();
        assert.ok(headings.length > 20);
        for (const heading of headings.filter((one) => one !== 'Downloads'))
          assert.ok(whole.includes(heading.replaceAll('\u00a0', ' ')), heading);
        // The canvas holds the label of the time axis.
        const overTime = page.locator('.plot[aria-label*=zoom]');
        assert.equal(whole.match(/time, m:ss/g)?.length, await overTime.count());
      } finally {
        await page.context().close();
      }
    });
  }

  test('a long reason is cut in print unless it is expanded', async () => {
    await reader.read(wordy(), async (page) => {
      await page.locator('.verdict .long summary').nth(1).press('Enter');
      const whole = (await printed(page)).map(({ text }) => text).join(' ');
      assert.equal(whole.match(/nobody/g)?.length, 1_500);
      assert.match(whole, /xx… \(10,000 characters: run\.json has all of them\)/);
      assert.deepEqual(await cutOff(page), []);
    });
  });

  // Regression: the heading of the waterfalls stood alone on paper.
  test('the heading of the waterfalls is printed with them', async () => {
    await reader.read(withSpans(SPANS), async (page) => {
      const sheets = (await printed(page)).map((sheet) => sheet.text).join(' ');
      assert.match(sheets, /The slowest sampled messages .{0,4}60\.0 ms · r\.1\.0 .*58\.0 ms · r\.1\.2 /);
      assert.doesNotMatch(sheets, /57\.0 ms · r\.1\.3/);
    });
  });
});

test('each sheet of the list of runs has the names of its columns, and nothing to click', async (t) => {
  const visitor = await Visitor.start(60);
  t.after(() => visitor.close());
  await visitor.visit('/', async (page) => {
    await page.locator('.runs tbody tr').nth(49).waitFor();
    const sheets = (await printed(page)).map((sheet) => sheet.text);
    assert.ok(sheets.length > 1);
    for (const sheet of sheets)
      assert.match(sheet, /verdict .*not arrived .*p99.* change .*messages.* started/);
    assert.doesNotMatch(sheets.join(' '), /Find|Show 50 more/);
  });
});

test('the referee’s table of eight truths is whole on paper, and its sheets are numbered', async (t) => {
  const place = await mkdtemp(join(tmpdir(), 'arrival-print-'));
  t.after(() => rm(place, { recursive: true }));
  const [own] = await Promise.all([Reader.start(), template('referee')]);
  t.after(() => own.close());
  const result = ofEight(madeResult());
  await own.read(await readFile(await writeReferee(place, result), 'utf8'), async (page) => {
    const sheets = await printed(page);
    numberedAndWhole(sheets);
    const whole = sheets.map(({ text }) => text).join(' ');
    const head = new RegExp(result.truths.map(({ name }) => `${name} p99 [\\d.]+ ms`).join(' '));
    assert.match(whole, head);
  });
});

/** A result with as many truths as the campaign has, each as the made freeze. */
function ofEight(result: Referee): Referee {
  const names = ['slow', 'saturate', 'limit', 'reset', 'lost', 'bursts'];
  const more = <T>(all: T[], is: (one: T) => boolean, named: (one: T, name: string) => T) => [
    ...all,
    ...names.flatMap((name) => all.filter(is).map((one) => named(one, name))),
  ];
  return {
    ...result,
    truths: more(
      result.truths,
      ({ name }) => name === 'freeze',
      (one, name) => ({ ...one, name }),
    ),
    runs: more(
      result.runs,
      ({ truth }) => truth === 'freeze',
      (one, truth) => ({ ...one, truth }),
    ),
    cells: more(
      result.cells,
      ({ truth }) => truth === 'freeze',
      (one, truth) => ({ ...one, truth }),
    ),
  };
}

interface Word {
  text: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A printed sheet; lengths in points. */
interface Sheet {
  width: number;
  height: number;
  words: Word[];
  /** The text in reading order: one column after the other. */
  text: string;
}

/** Width of A4 without the margins of the page's styles, CSS px. */
const PRINTABLE = 702;

/** Prints a page to a PDF and returns the position of each word. */
async function printed(page: Page): Promise<Sheet[]> {
  return sheetsOf(await page.pdf({ format: 'A4' }));
}

/** Prints a file with the browser's command line, which prints at the load event. */
async function printedByCommand(url: string): Promise<Sheet[]> {
  const place = await mkdtemp(join(tmpdir(), 'arrival-print-'));
  try {
    const pdf = join(place, 'page.pdf');
    const quiet = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${join(place, 'user')}`];
    await execa(findChromium(), [...quiet, `--print-to-pdf=${pdf}`, url]);
    return await sheetsOf(await readFile(pdf));
  } finally {
    await rm(place, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function sheetsOf(pdf: Uint8Array): Promise<Sheet[]> {
  const [boxes, texts] = await Promise.all(
    ['-bbox', '-raw'].map(async (how) => (await execa('pdftotext', [how, '-', '-'], { input: pdf })).stdout),
  );
  const read = texts?.split('\f').map((text) => text.replaceAll(/\s+/g, ' '));
  return (boxes ?? '')
    .split('<page ')
    .slice(1)
    .map((text, i) => {
      const [width = 0, height = 0] = numbers(text.slice(0, text.indexOf('>')));
      const words = [...text.matchAll(/<word ([^>]+)>([^<]*)<\/word>/g)].map(
        ([, box = '', word = '']): Word => {
          const [left = 0, top = 0, right = 0, bottom = 0] = numbers(box);
          return { text: word, left, top, right, bottom };
        },
      );
      return { width, height, words, text: read?.[i] ?? '' };
    });
}

/** Asserts that text is not shrunk, that each sheet bears its number, and that no word is in its margins or beyond. */
function numberedAndWhole(sheets: readonly Sheet[]): void {
  // Regression: a chart wider than the sheet shrank all text. The largest word has 16 px.
  const heights = sheets[0]?.words.map(({ top, bottom }) => bottom - top) ?? [];
  assert.ok(Math.max(...heights) > 12, `${Math.max(...heights)}`);
  for (const [i, { width, height, words }] of sheets.entries()) {
    const { number, rest } = numbered(words);
    assert.equal(number, `${i + 1}/${sheets.length}`);
    for (const { text, left, top, right, bottom } of rest) {
      const inside = left >= MARGIN && top >= MARGIN && right <= width - MARGIN && bottom <= height - MARGIN;
      assert.ok(inside, `${text} at ${left}, ${top}`);
    }
  }
}

/** The words of a sheet without its page number, the last three. */
function numbered(words: Word[]): { number: string; rest: Word[] } {
  const last = words.slice(-3).map(({ text }) => text);
  return { number: last.join(''), rest: words.slice(0, -3) };
}

/** The numbers in attributes. */
function numbers(attributes: string): number[] {
  return [...attributes.matchAll(/"([\d.]+)"/g)].map(([, value]) => Number(value));
}

/** Elements too wide for the paper. Leaves the page in print layout. */
async function cutOff(page: Page): Promise<string[]> {
  await page.setViewportSize({ width: PRINTABLE, height: 900 });
  await page.emulateMedia({ media: 'print' });
  await page.waitForFunction(() => document.querySelector('.charts canvas')?.clientWidth === 336);
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('html, main, main *')]
      .filter((element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
      .filter((element) => element.tagName === 'HTML' || getComputedStyle(element).overflowX !== 'visible')
      .map(
        ({ tagName, className, scrollWidth, clientWidth }) =>
          `${tagName}.${className}: ${scrollWidth} of ${clientWidth} px`,
      ),
  );
}
