import { gunzipSync, gzipSync } from 'node:zlib';
import type { Run } from './contract/run.ts';

/** Where the data goes; exactly once in a template. */
export const SLOT = '<script id="run" type="application/json">null</script>';

/**
 * Puts a run into the built page, without the histograms of its parts: no figure of the page is made from them, and they do not compress.
 * @param template reports/dist/index.html
 * @returns one HTML file that needs nothing else
 * @throws if the template has not exactly one place for the data
 */
export function renderReport(run: Run, template: string): string {
  const { arrival, from_send, http, stages } = run.latency;
  const whole = new Set<unknown>([arrival, from_send, http, ...Object.values(stages)]);
  const json = JSON.stringify(run, function (this: unknown, key, value) {
    return key === 'histogram' && !whole.has(this) ? null : value;
  });
  return fillPage(json, template);
}

/**
 * Puts data into the one place that a built page has for it: compressed, so that the page of an hour stays small; in base64, so that
 * nothing can end the element it stands in.
 */
export function fillPage(json: string, template: string): string {
  const [head, tail, ...more] = template.split(SLOT);
  if (head === undefined || tail === undefined || more.length > 0) {
    throw new Error(`template must contain ${SLOT} exactly once`);
  }
  return head + SLOT.replace('null', `"${gzipSync(json).toString('base64')}"`) + tail;
}

/** The run that a page holds, as the page reads it. */
export function shownRun(html: string): Run {
  return dataOf(html) as Run;
}

export function dataOf(html: string): unknown {
  const [, text] = html.match(/<script id="run" type="application\/json">(.*?)<\/script>/s) ?? [];
  if (text === undefined || text === 'null') throw new Error('the page holds no data');
  return JSON.parse(gunzipSync(Buffer.from(JSON.parse(text), 'base64')).toString());
}
