/** What a person would look at on a page. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';

const AXE = new URL(import.meta.resolve('axe-core/axe.min.js'));

/** What axe-core has against the page: a rule and the first place for each. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
  });
}

export function chartOf(page: Page, title: string) {
  return page.locator('.chart', { has: page.locator('h3', { hasText: new RegExp(`^${title} `) }) });
}

/** The names of a chart's lines. */
export async function legend(page: Page, title: string): Promise<(string | null)[]> {
  await drawAll(page);
  return (await chartOf(page, title).locator('.u-legend th').allTextContents()).slice(1);
}

/** A chart's pixels. */
export function picture(page: Page, title: string): Promise<string> {
  return chartOf(page, title)
    .locator('canvas')
    .evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
}

/** Zooms the chart that has the focus by keys, and with it another over the same time; both end as they began. */
export async function zoomsByKeys(page: Page, title: string, other: string): Promise<void> {
  const both = () => Promise.all([picture(page, title), picture(page, other)]);
  const whole = await both();
  for (const key of ['ArrowRight', 'ArrowRight', '+', '+']) await page.keyboard.press(key);
  const zoomed = await both();
  for (const i of [0, 1]) assert.notEqual(zoomed[i], whole[i]);
  await page.keyboard.press('0');
  assert.deepEqual(await both(), whole);
}

/** How many pixels of a chart are of a colour of the page's styles. */
export async function painted(page: Page, title: string, colour: string): Promise<number> {
  await drawAll(page);
  return chartOf(page, title)
    .locator('canvas')
    .evaluate((element, name) => {
      const canvas = element as HTMLCanvasElement;
      const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
        0,
        0,
        canvas.width,
        canvas.height,
      );
      const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      const wanted = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
      let pixels = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 255 && wanted.every((value, k) => Math.abs(value - (data[i + k] ?? 0)) < 3))
          pixels++;
      }
      return pixels;
    }, colour);
}

/** px that the page is wider than the screen. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

export async function text(page: Page, selector: string): Promise<string> {
  return ((await page.locator(selector).first().textContent()) ?? '').replaceAll('\u00a0', ' ');
}

/** Has charts drawn that are not on the screen yet, as for printing. */
export function drawAll(page: Page): Promise<boolean> {
  return page.evaluate(() => dispatchEvent(new Event('beforeprint')));
}

/** Title of each chart that has something to draw, and how many colours are on its canvas. */
export async function charts(page: Page): Promise<[string, number][]> {
  await drawAll(page);
  return page.locator('.chart:has(canvas)').evaluateAll((figures) =>
    figures.map((figure) => {
      const title = figure.querySelector('h3')?.firstChild?.textContent?.trim() ?? '';
      const canvas = figure.querySelector('canvas') as HTMLCanvasElement;
      const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
        0,
        0,
        canvas.width,
        canvas.height,
      );
      return [title, new Set(new Uint32Array(data.buffer)).size];
    }),
  );
}

/** Brightness, 0 to 255, of the page and of the numbers on the first chart's axis. */
export function brightest(page: Page): Promise<{ paper: number; axis: number }> {
  return page.evaluate(() => {
    const rgb = getComputedStyle(document.body).backgroundColor.match(/\d+/g)?.map(Number) ?? [];
    const canvas = document.querySelector('canvas') as HTMLCanvasElement;
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    const { data } = context.getImageData(0, 0, 44, canvas.height);
    let axis = 0;
    let most = 0;
    for (let i = 0; i < data.length; i += 4) {
      if ((data[i + 3] ?? 0) > most) {
        most = data[i + 3] ?? 0;
        axis = data[i] ?? 0;
      }
    }
    return { paper: Math.max(...rgb), axis };
  });
}
