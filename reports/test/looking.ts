/** What a reader sees on a page. */
import assert from 'node:assert/strict';
import type { ConsoleMessage, Page } from 'playwright-core';

export function chartOf(page: Page, name: string) {
  return page.locator('.chart', { has: page.locator('.what', { hasText: new RegExp(`^${name}$`) }) });
}

/** The names of a chart's lines. */
export async function legend(page: Page, name: string): Promise<(string | null)[]> {
  return (await chartOf(page, name).locator('.u-legend th').allTextContents()).slice(1);
}

/** A chart's pixels. */
export function picture(page: Page, name: string): Promise<string> {
  return chartOf(page, name)
    .locator('canvas')
    .evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
}

/** Keys zoom the focused chart and another one over time; 0 resets both. */
export async function zoomsByKeys(page: Page, name: string, other: string): Promise<void> {
  const both = () => Promise.all([picture(page, name), picture(page, other)]);
  const whole = await both();
  for (const key of ['ArrowRight', 'ArrowRight', '+', '+']) await page.keyboard.press(key);
  const zoomed = await both();
  for (const i of [0, 1]) assert.notEqual(zoomed[i], whole[i]);
  await page.keyboard.press('0');
  assert.deepEqual(await both(), whole);
}

/** A drag over a chart zooms it and another one over time; a double click resets both. */
export async function zoomsByMouse(page: Page, name: string, other: string): Promise<void> {
  const both = () => Promise.all([picture(page, name), picture(page, other)]);
  const plot = chartOf(page, name).locator('.u-over');
  await plot.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await plot.boundingBox()) ?? assert.fail('no chart');
  const whole = await both();
  await page.mouse.move(x + width * 0.3, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.6, y + height / 2, { steps: 5 });
  await page.mouse.up();
  const zoomed = await both();
  for (const i of [0, 1]) assert.notEqual(zoomed[i], whole[i]);
  await plot.dblclick();
  await page.mouse.move(0, 0);
  assert.deepEqual(await both(), whole);
}

/** The number of a chart's pixels with a colour of the page's styles. */
export async function painted(page: Page, name: string, colour: string): Promise<number> {
  return chartOf(page, name)
    .locator('canvas')
    .evaluate((element, wantedColour) => {
      const canvas = element as HTMLCanvasElement;
      const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
        0,
        0,
        canvas.width,
        canvas.height,
      );
      const hex = getComputedStyle(document.documentElement).getPropertyValue(wantedColour).trim();
      const wanted = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
      let pixels = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 255 && wanted.every((value, k) => Math.abs(value - (data[i + k] ?? 0)) < 3))
          pixels++;
      }
      return pixels;
    }, colour);
}

/** Time of the first contentful paint, ms. */
export function firstPaint(page: Page): Promise<number | undefined> {
  return page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
}

/** Returns by how much the page is wider than the screen, px, once charts have resized (within a frame). */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    await frame();
    await frame();
    return document.documentElement.scrollWidth - window.innerWidth;
  });
}

/** The ids of sections with a table that is wider than its place. */
export function wideTables(page: Page, sections: string): Promise<string[]> {
  return page
    .locator(`${sections} .scroll`)
    .evaluateAll((places) =>
      places.flatMap((place) =>
        place.scrollWidth > place.clientWidth + 1 ? [place.closest('section')?.id ?? ''] : [],
      ),
    );
}

export async function text(page: Page, selector: string): Promise<string> {
  return ((await page.locator(selector).first().textContent()) ?? '').replaceAll('\u00a0', ' ');
}

/** Whether the page logged a problem. Chrome also warns of a canvas that is read often: these tests do that. */
export function isComplaint(message: ConsoleMessage): boolean {
  return ['error', 'warning'].includes(message.type()) && !message.text().includes('willReadFrequently');
}

/** The charts with an empty canvas. */
export function blank(page: Page): Promise<string[]> {
  return page.locator('.plot').evaluateAll((plots) =>
    plots.flatMap((plot) => {
      const canvas = plot.querySelector('canvas');
      const data = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data;
      return data?.some((value) => value > 0) ? [] : [plot.getAttribute('aria-label') ?? ''];
    }),
  );
}

/** Text that is invisible or breaks the layout: bidi controls, and numbers of 30 or more digits. */
export function unreadable(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const all = [...document.querySelectorAll('body :not(script)')];
    const said = all.flatMap((one) => [
      ...['title', 'aria-label'].map((name) => one.getAttribute(name) ?? ''),
      ...[...one.childNodes].filter((node) => node instanceof Text).map((node) => node.data),
    ]);
    return [document.title, ...said].filter((text) => /\p{Bidi_Control}|[\d,]{30,}/u.test(text));
  });
}

/** A chart's pixels by colour: antialiasing changes only their opacity. */
export interface Drawn {
  name: string;
  title: string;
  /** The alternative text. */
  alternative: string;
  /** Whether it offers its figures as a table. */
  table: boolean;
  /** Each line drawn alone, within the axes. */
  lines: { label: string; pixels: number; colour: string; pattern: string }[];
  /** Pixels of heat map cells. */
  heat: number;
  /** Pixels of marks, with every line hidden. */
  marks: number;
  /** Pixels of the names of phases and marks, above the plot. */
  names: { phases: number; marks: number };
}

/** What is drawn of each chart with data. */
export async function charts(page: Page): Promise<Drawn[]> {
  return page.locator('.chart:has(canvas)').evaluateAll(async (figures) => {
    const styles = getComputedStyle(document.documentElement);
    const own = (name: string) =>
      [1, 3, 5].map((i) =>
        Number.parseInt(
          styles
            .getPropertyValue(name)
            .trim()
            .slice(i, i + 2),
          16,
        ),
      );
    const [heat, ink, muted] = [own('--heat'), own('--ink'), own('--muted')];
    const all = [];
    for (const figure of figures) {
      const canvas = figure.querySelector('canvas') as HTMLCanvasElement;
      const [whole, plot] = [canvas, figure.querySelector('.u-over') as Element].map((element) =>
        element.getBoundingClientRect(),
      ) as [DOMRect, DOMRect];
      const ratio = canvas.width / whole.width;
      // Reading the chart's own canvas often is slow, and the browser warns.
      const copy = document.createElement('canvas');
      const context = copy.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
      /** Counts the pixels of a colour within the axes, or above the plot. */
      const pixels = (wanted: number[], above = false) => {
        const top = above ? 0 : plot.top - whole.top;
        const height = above ? plot.top - whole.top : plot.height;
        const place = [plot.left - whole.left, top, plot.width, Math.max(1, height)] as const;
        const [x, y, width, rows] = place.map((px) => Math.round(px * ratio)) as [
          number,
          number,
          number,
          number,
        ];
        copy.width = width;
        copy.height = rows;
        context.drawImage(canvas, -x, -y);
        const { data } = context.getImageData(0, 0, width, rows);
        const [red = 0, green = 0, blue = 0] = wanted;
        const near = (i: number, value: number) => Math.abs((data[i] as number) - value) < 7;
        let found = 0;
        // Most pixels are empty.
        for (let i = 3; i < data.length; i += 4)
          if ((data[i] as number) > 40 && near(i - 3, red) && near(i - 2, green) && near(i - 1, blue))
            found++;
        return found;
      };
      /** A click on a label hides its line; with Ctrl it hides all others. A second click undoes it. */
      const click = async (labels: Element[], ctrlKey: boolean) => {
        for (const label of labels) label.dispatchEvent(new MouseEvent('click', { ctrlKey }));
        // uPlot draws in a microtask. A task would let the browser paint the whole page each time.
        await null;
      };
      const lines = [];
      const names = { phases: pixels(muted, true), marks: pixels(ink, true) };
      const labels = [...figure.querySelectorAll('.u-legend tr:not(:first-child) th')];
      const marker = (label: Element) => getComputedStyle(label.querySelector('.u-marker') as Element);
      for (const label of labels) {
        if (labels.length > 1) await click([label], true);
        const { borderTopColor: colour, borderTopStyle: pattern } = marker(label);
        const rgb = colour.match(/\d+/g)?.map(Number) ?? [];
        lines.push({ label: label.textContent ?? '', pixels: pixels(rgb), colour, pattern });
        if (labels.length > 1) await click([label], true);
      }
      await click(labels, false);
      all.push({
        name: figure.querySelector('.what')?.textContent ?? '',
        title: figure.querySelector('h3')?.textContent ?? '',
        alternative: figure.querySelector('[role=img]')?.getAttribute('aria-label') ?? '',
        table: figure.querySelector('details.data') !== null,
        lines,
        heat: pixels(heat),
        marks: pixels(ink),
        names,
      });
      await click(labels, false);
    }
    return all;
  });
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
