import type { Run } from './run.ts';

/** Where the data goes; exactly once in a template. */
export const SLOT = '<script id="run" type="application/json">null</script>';

/**
 * Puts a run into the built page.
 * @param template reports/dist/index.html
 * @returns one HTML file that needs nothing else
 * @throws if the template has not exactly one place for the data
 */
export function renderReport(run: Run, template: string): string {
  return fillPage(run, template);
}

/** Puts data into the one place that a built page has for it. */
export function fillPage(data: object, template: string): string {
  const [head, tail, ...more] = template.split(SLOT);
  if (head === undefined || tail === undefined || more.length > 0) {
    throw new Error(`template must contain ${SLOT} exactly once`);
  }
  return head + SLOT.replace('null', () => escapeJson(JSON.stringify(data))) + tail;
}

/** JSON that can't end the script element it stands in. */
function escapeJson(json: string): string {
  return json.replace(/[<\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
