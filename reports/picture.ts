/** `npx node reports/picture.ts <run directory> <file.webp>`: a picture of a run's report, from its top to where the time goes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readFlags } from '../pipeline/common/flags.ts';
import { launchChromium } from './chromium.ts';
import { render } from './k6.ts';

const USAGE = `Usage: npx node reports/picture.ts <run directory> <file.webp>

Writes a picture of the report of a run. It needs Chromium (CHROMIUM names its path) and ./k6.`;
const WIDTH = 1100;
/** The scale of the picture, for the width of a README. */
const SCALE = 0.85;
/** WebP's quality: text stays sharp in less than half of PNG's bytes. */
const QUALITY = 80;
/** The last element on the picture. */
const LAST = '.stages';
/** px below it. */
const MARGIN = 24;

try {
  const { values, positionals } = readFlags(process.argv.slice(2), {}, true);
  const [directory, file] = positionals;
  if (values.help) console.log(USAGE);
  else if (directory === undefined || file === undefined || positionals.length > 2) {
    throw new Error(`expected a run directory and a file, got ${positionals.length}; see --help`);
  } else await takePicture(directory, file);
} catch (error) {
  console.error(`picture: ${(error as Error).message.split('\n')[0]}`);
  process.exitCode = 1;
}

async function takePicture(directory: string, file: string): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), 'arrival-picture-'));
  const browser = await launchChromium();
  try {
    await render(directory, join(place, 'index.html'));
    const page = await browser.newPage({
      viewport: { width: WIDTH, height: 900 },
      colorScheme: 'light',
    });
    await page.goto(pathToFileURL(join(place, 'index.html')).href);
    await page.locator('main > :is(footer, .plain)').waitFor();
    const last = await page.locator(LAST).boundingBox();
    if (last === null) throw new Error(`${directory}: the run has no stages to show`);
    const height = Math.ceil(last.y + last.height + MARGIN);
    const clip = { x: 0, y: 0, width: WIDTH, height, scale: SCALE };
    const options = { format: 'webp', quality: QUALITY, captureBeyondViewport: true, clip } as const;
    const { data } = await (await page.context().newCDPSession(page)).send('Page.captureScreenshot', options);
    await writeFile(file, Buffer.from(data, 'base64'));
  } finally {
    await browser.close();
    await rm(place, { recursive: true });
  }
}
