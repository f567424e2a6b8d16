/** A comparison as one page that needs nothing else. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { fillPage } from '../render.ts';
import type { Comparison } from './comparison.ts';

const TEMPLATE = fileURLToPath(new URL('../dist/comparison/index.html', import.meta.url));

/** @param template the built page */
export function renderComparison(comparison: Comparison, template: string): string {
  return fillPage(JSON.stringify(comparison), template);
}

/** @throws if the page has not been built */
export async function comparisonTemplate(): Promise<string> {
  return readFile(TEMPLATE, 'utf8').catch(() => {
    throw new Error(`${TEMPLATE} is missing: npm run setup builds it`);
  });
}
