/** A page as it is printed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Page } from 'playwright-core';
import { findChromium } from '../chromium.ts';

interface Word {
  text: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A printed sheet; lengths in points. */
export interface Sheet {
  width: number;
  height: number;
  words: Word[];
  /** In reading order: one column after the other. */
  text: string;
}

/** Width of A4 without the margins of the page's styles, CSS px. */
const PRINTABLE = 702;

/** Prints a page to a PDF and returns the position of each word. */
export async function printed(page: Page): Promise<Sheet[]> {
  return sheetsOf(await page.pdf({ format: 'A4' }));
}

/** Prints a file with the browser's command line, which prints at the load event. */
export async function printedByCommand(url: string): Promise<Sheet[]> {
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

/** The numbers in attributes. */
function numbers(attributes: string): number[] {
  return [...attributes.matchAll(/"([\d.]+)"/g)].map(([, value]) => Number(value));
}

/** Elements too wide for the paper. Leaves the page in print layout. */
export async function cutOff(page: Page): Promise<string[]> {
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
