/** What the page of every run must show. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { latencyOf, type Run, STAGES } from '../contract/run.ts';
import { charts, type Drawn, overflow, wideTables } from './looking.ts';

/** A line, cell or name has at least as many pixels. */
const LEAST = 40;
/** Titles of charts without a figure. */
const NOT_KNOWN = /^(Too few|No second|How .* is not known)/;
/** Charts that are not over time. */
const UNPHASED = [
  'Latency by percentile',
  'Distribution of arrival',
  'Latency by load',
  'Search for the capacity',
];

/** Asserts that the page has the run's verdict and account, and fits the screen. */
export async function assertAnswers(page: Page, run: Run): Promise<void> {
  assert.equal(await page.locator('.verdict h2').textContent(), run.verdict.result);
  assert.equal(await page.locator('h1').textContent(), run.run.name);
  const first = await page.locator('.equation .value').first().textContent();
  assert.equal(first, run.account.scheduled.toLocaleString('en-US'));
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok((await overflow(page)) <= 0, `${width} px: wider than the screen`);
  }
  // Errors, rules and the setup have texts of the user's, of any length.
  assert.deepEqual(
    await wideTables(page, ':is(section:not(#findings, #setup, #trust), .checks, .clocks)'),
    [],
  );
}

/** Asserts that every chart is drawn and has a title with a figure, alternative text and a table. */
export async function assertReads(page: Page, run: Run): Promise<void> {
  await assertAnswers(page, run);
  for (const chart of await charts(page)) {
    assert.deepEqual(missing(chart, run), [], chart.name);
    assert.ok(/\d/.test(chart.title) || NOT_KNOWN.test(chart.title), `${chart.name}: ${chart.title}`);
    assert.ok(chart.alternative.startsWith(chart.title) && chart.table, chart.name);
    const looks = chart.lines.map(({ colour, pattern }) => `${colour} ${pattern}`);
    assert.equal(new Set(looks).size, looks.length, `${chart.name}: two lines look the same`);
  }
}

/** Whether a gauge of the host was 0 all the time. */
function idle({ resources }: Run, gauge: string): boolean {
  const values = resources.find(({ process }) => process === 'host')?.figures?.gauges[gauge] ?? [];
  return values.every((value) => (value ?? 0) === 0);
}

/** The parts that a chart's canvas lacks. */
function missing({ name, lines, heat, marks, names }: Drawn, run: Run): string[] {
  // A line of zeros lies on the axis and is as faint.
  const zero = {
    backlog: run.timeline.every(({ backlog }) => backlog === 0),
    'in flight': run.timeline.every(({ in_flight }) => in_flight === 0),
    ...Object.fromEntries(STAGES.map((stage) => [stage, latencyOf(run.latency, stage).mean === 0])),
    'waiting for disk (wa)': idle(run, 'wa'),
    'stolen (st)': idle(run, 'st'),
  };
  const concurrency = name.endsWith('by concurrency');
  const knee = concurrency && (run.knee?.vus ?? 0) > 0;
  const parts: Record<string, number> = {
    ...Object.fromEntries(
      lines.map(({ label, pixels }) => [label, zero[label as keyof typeof zero] ? LEAST : pixels]),
    ),
    ...(name === 'Arrival latency, all deliveries' && { cells: heat }),
    ...(knee && { 'the knee': marks, 'its name': names.marks }),
    ...(!concurrency && !UNPHASED.includes(name) && { 'names of phases': names.phases }),
  };
  return Object.keys(parts).filter((part) => Number(parts[part]) < LEAST);
}
