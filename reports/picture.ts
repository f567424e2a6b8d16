/** `npx node reports/picture.ts <run directory> <file.webp>`: pictures of the first screen of a run's report, light and dark. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { readFlags } from '../pipeline/shared/flags.ts';
import { launchChromium } from './chromium.ts';
import { render } from './k6.ts';

const USAGE = `Usage: npx node reports/picture.ts <run directory> <file.webp>

Writes pictures of the first screen of a run's report: file.webp, and file-dark.webp. It needs Chromium (CHROMIUM names its path) and ./k6.`;
/** px. */
const SCREEN = { width: 1180, height: 900 };
/** The last element on the picture, and px below it. */
const [LAST, MARGIN] = ['#summary', 16];
/** The scale of the picture, for the width of a README. */
const SCALE = 0.85;
/** WebP's quality: text stays sharp in less than half of PNG's bytes. */
const QUALITY = 80;

try {
  const { values, positionals } = readFlags(process.argv.slice(2), {}, true);
  const [directory, file] = positionals;
  if (values.help) console.log(USAGE);
  else if (directory === undefined || file === undefined || positionals.length > 2) {
    throw new Error(`expected a run directory and a file, got ${positionals.length}; see --help`);
  } else await takePictures(directory, file);
} catch (error) {
  console.error(`picture: ${(error as Error).message.split('\n')[0]}`);
  process.exitCode = 1;
}

async function takePictures(directory: string, file: string): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), 'arrival-picture-'));
  const browser = await launchChromium();
  try {
    const html = join(place, 'index.html');
    await render(directory, html);
    await writeFile(file, await takePicture(browser, html, 'light'));
    await writeFile(file.replace(/(\.\w+)?$/, '-dark$1'), await takePicture(browser, html, 'dark'));
  } finally {
    await browser.close();
    await rm(place, { recursive: true });
  }
}

async function takePicture(browser: Browser, html: string, colorScheme: 'light' | 'dark'): Promise<Buffer> {
  const page = await browser.newPage({ viewport: SCREEN, colorScheme });
  await page.goto(pathToFileURL(html).href);
  await page.locator('main > :is(footer, .plain)').waitFor();
  const last = await page.locator(LAST).boundingBox();
  if (last === null) throw new Error(`${html}: this page shows no run`);
  const clip = { x: 0, y: 0, width: SCREEN.width, height: last.y + last.height + MARGIN, scale: SCALE };
  const options = { format: 'webp', quality: QUALITY, captureBeyondViewport: true, clip } as const;
  const { data } = await (await page.context().newCDPSession(page)).send('Page.captureScreenshot', options);
  return Buffer.from(data, 'base64');
}
