/** The history's pages in a browser. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium } from '../../chromium.ts';
import { isComplaint } from '../../test/looking.ts';
import { template } from '../../test/template.ts';
import { main } from '../server.ts';
import { temporaryRuns, writeMany } from './runs.ts';

/** A browser at a server, over runs in a directory of their own. */
export class Visitor {
  readonly root: string;
  readonly address: string;
  readonly browser: Browser;
  readonly #stop: () => Promise<number>;

  private constructor(root: string, address: string, browser: Browser, stop: () => Promise<number>) {
    this.root = root;
    this.address = address;
    this.browser = browser;
    this.#stop = stop;
  }

  /** @param runs that there are, an hour apart, each hundredth of another build */
  static async start(runs = 0): Promise<Visitor> {
    const root = await temporaryRuns();
    await Promise.all([template('comparison'), template('history'), writeMany(root, runs)]);
    const stop = new AbortController();
    const stdout = new PassThrough();
    const argv = ['--port', '0', '--runs', root];
    const code = main(argv, {}, { stdout, stderr: process.stderr, stop: stop.signal });
    const [line] = await Promise.race([
      once(stdout, 'data'),
      code.then((it) => assert.fail(`exit code ${it}`)),
    ]);
    const browser = await launchChromium();
    return new Visitor(root, `${line}`.trim(), browser, () => {
      stop.abort();
      return code;
    });
  }

  /** Opens a page of the server, then checks that it logged no problem and loaded nothing from elsewhere. */
  async visit(
    path: string,
    look: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (isComplaint(message)) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(this.address) && !request.url().startsWith('data:'))
        complaints.push(request.url());
    });
    try {
      await page.goto(`${this.address}${path}`);
      await look(page);
      assert.deepEqual(complaints, []);
    } finally {
      await context.close();
    }
  }

  async close(): Promise<void> {
    await this.browser.close();
    assert.equal(await this.#stop(), 0);
    await rm(this.root, { recursive: true });
  }
}
