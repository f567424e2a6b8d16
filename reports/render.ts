import { gunzipSync, gzipSync } from 'node:zlib';
import limits from './contract/limits.json' with { type: 'json' };
import type { Run } from './contract/run.ts';

/** The place for the data, once in a template. */
export const SLOT = '<script id="run" type="application/json">null</script>';

/**
 * Puts data into a built page: compressed, so that the page stays small, and in base64, so that nothing can end its element. k6 does
 * the same with a run, and adds its figures as plain HTML (internal/render/page.go).
 * @throws unless the template has exactly one place for the data
 */
export function fillPage(json: string, template: string): string {
  const [head, tail, ...more] = template.split(SLOT);
  if (head === undefined || tail === undefined || more.length > 0) {
    throw new Error(`template must contain ${SLOT} exactly once`);
  }
  return head + SLOT.replace('null', `"${gzipSync(json).toString('base64')}"`) + tail;
}

/** The run in a page. */
export function shownRun(html: string): Run {
  return dataOf(html) as Run;
}

export function dataOf(html: string): unknown {
  const [, text] = html.match(/<script id="run" type="application\/json">(.*?)<\/script>/s) ?? [];
  if (text === undefined || text === 'null') throw new Error('the page holds no data');
  return JSON.parse(
    gunzipSync(Buffer.from(JSON.parse(text), 'base64'), { maxOutputLength: limits.file_bytes }).toString(),
  );
}
