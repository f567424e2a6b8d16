/** Pages as a string, without a browser. What effects add is missing: the menu, and what is drawn. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type HTMLElement, parse } from 'node-html-parser';
import { type ComponentChildren, Fragment, h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { transformSync } from 'rolldown/utils';
import type { Comparison } from '../comparison/comparison.ts';
import type { Run } from '../contract/run.ts';
import type { Referee } from '../referee/result.ts';
import { type GoldenName, golden } from './goldens.ts';

// Node strips types, but knows no JSX.
registerHooks({
  load(url, context, next) {
    if (!url.endsWith('.tsx')) return next(url, context);
    const path = fileURLToPath(url);
    const jsx = { runtime: 'automatic', importSource: 'preact' } as const;
    const { code, errors } = transformSync(path, readFileSync(path, 'utf8'), { jsx });
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
    return { format: 'module', source: code, shortCircuit: true };
  },
});
const { FirstScreen, Sections } = await import('../page/report.tsx');
const { Page } = await import('../comparison/page/page.tsx');
const referee = await import('../referee/page/page.tsx');

/** The page of a run, opened from a file. */
export function runPage(given: Run | GoldenName): HTMLElement {
  const run = typeof given === 'string' ? golden(given) : given;
  const props = { run, held: run, place: { served: false, before: null } };
  return rendered([h(FirstScreen, props), h(Sections, props)]);
}

/** The page of a comparison, opened from a file. */
export function comparisonPage(comparison: Comparison): HTMLElement {
  return rendered(h(Page, { comparison, served: false }));
}

/** The page of the referee. */
export function refereePage(result: Referee): HTMLElement {
  return rendered(h(referee.Page, { result }));
}

function rendered(children: ComponentChildren): HTMLElement {
  return parse(`<main id="report">${renderToString(h(Fragment, null, children))}</main>`);
}

/** The text of each element that a selector finds. */
export function texts(page: HTMLElement, selector: string): string[] {
  return page.querySelectorAll(selector).map((element) => element.textContent.replaceAll('\u00a0', ' '));
}

/** The text of the first element that a selector finds. */
export function text(page: HTMLElement, selector: string): string {
  const [first] = texts(page, selector);
  if (first === undefined) throw new Error(`the page has no ${selector}`);
  return first;
}

/** The cells of the row whose head is a name. */
export function rowOf(page: HTMLElement, name: string): string[] {
  const row = page
    .querySelectorAll('tbody tr')
    .find((one) => one.querySelector('th')?.textContent.trim() === name);
  if (row === undefined) throw new Error(`no table of the page has a row ${name}`);
  return texts(row, 'td');
}

/** The table whose caption begins with some words. */
export function tableOf(page: HTMLElement, caption: string): HTMLElement {
  const table = page.querySelectorAll('table').find((one) => text(one, 'caption').startsWith(caption));
  if (table === undefined) throw new Error(`the page has no table ${caption}`);
  return table;
}

/** The titles of the charts that have something to draw, by their names. */
export function titles(page: HTMLElement): Map<string, string> {
  const charts = page.querySelectorAll('.chart').filter((chart) => chart.querySelector('.plot') !== null);
  return new Map(charts.map((chart) => [text(chart, '.what'), text(chart, 'h3')]));
}
