/** A real browser for tests. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium } from '../chromium.ts';
import type { Run } from '../contract/run.ts';
import { fillPage } from '../render.ts';
import { type GoldenName, golden } from './goldens.ts';
import { isComplaint } from './looking.ts';
import { template } from './template.ts';

interface Opened {
  page: Page;
  /** Console errors and warnings, exceptions, failed requests. */
  complaints: string[];
  /** Requested URLs. */
  requests: string[];
  url: string;
}

/** Opens pages from files in one offline browser; `close` removes the files. */
export class Reader {
  #directory: string;
  #browser: Browser;
  #template: string;
  readonly #shared = new Map<GoldenName, Opened>();

  private constructor(directory: string, browser: Browser, html: string) {
    this.#directory = directory;
    this.#browser = browser;
    this.#template = html;
  }

  static async start(): Promise<Reader> {
    const html = await template();
    const directory = await mkdtemp(join(tmpdir(), 'arrival-pages-'));
    const browser = await launchChromium();
    return new Reader(directory, browser, html);
  }

  /** @param run a run, the HTML of a page, or null for the empty template */
  async open(run: Run | string | null, options: BrowserContextOptions = {}): Promise<Opened> {
    const path = join(this.#directory, 'index.html');
    const html =
      run === null
        ? this.#template
        : typeof run === 'string'
          ? run
          : fillPage(JSON.stringify(run), this.#template);
    await writeFile(path, html);
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 900 },
      offline: true,
      ...options,
    });
    const page = await context.newPage();
    const opened: Opened = { page, complaints: [], requests: [], url: pathToFileURL(path).href };
    page.on('console', (message) => {
      if (isComplaint(message)) opened.complaints.push(message.text());
    });
    page.on('pageerror', (error) => opened.complaints.push(error.message));
    page.on('request', (request) => opened.requests.push(request.url()));
    page.on('requestfailed', (request) => opened.complaints.push(`failed: ${request.url()}`));
    await page.goto(opened.url);
    await page
      .locator('main > :is(footer, .plain), .subjects')
      .first()
      .waitFor()
      .catch((error: Error) => {
        throw new Error([error.message, ...opened.complaints].join('\n'), { cause: error });
      });
    return opened;
  }

  /** Opens a page, then checks that it logged no errors and loaded nothing else. */
  async read(
    run: Run | string | null,
    look: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const opened = await this.open(run, options);
    try {
      await look(opened.page);
      assertQuiet(opened);
    } finally {
      await opened.page.context().close();
    }
  }

  /** Like `read`, for a golden run whose page stays open: for tests that do not change the page. */
  async look(name: GoldenName, look: (page: Page) => Promise<void>): Promise<void> {
    const opened = this.#shared.get(name) ?? (await this.open(golden(name)));
    this.#shared.set(name, opened);
    await look(opened.page);
    assertQuiet(opened);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await rm(this.#directory, { recursive: true });
  }
}

function assertQuiet({ complaints, requests, url }: Opened): void {
  assert.deepEqual(complaints, []);
  assert.deepEqual(
    requests.filter((request) => request !== url && !request.startsWith('data:')),
    [],
  );
}
