/** A load generator of the referee: how it is installed and run, and how its report is read. */
import { join } from 'node:path';
import { FEW_COLLECTIONS } from '../../../pipeline/stack/k6.ts';
import { count } from '../../../reports/format.ts';
import {
  type Figures,
  PERCENTILES,
  type Percentile,
  type ToolEntry,
} from '../../../reports/referee/result.ts';

/** The repository: commands run there. */
export const ROOT = join(import.meta.dirname, '../../..');
/** The folder of the tools' scripts, from there. */
export const HERE = 'scenarios/campaigns/referee/tools';

/** What each generator is asked for. */
export interface Load {
  url: string;
  /** Requests/s. */
  rate: number;
  /** Connections of a tool that is held to the rate. */
  connections: number;
  /** Connections with which a closed loop makes about that rate where an answer takes 2 ms. */
  loops: number;
  seconds: number;
}

/** Output is what a tool left. */
export interface Output {
  stdout: string;
  stderr: string;
  /** The text of a file in the run's folder. @throws if there is none */
  file(name: string): string;
}

export type Counted = [text: string, count: number];

/** Report is what an adapter finds in the output. {@link figuresOf} makes the figures of it. */
export interface Report extends Omit<Figures, 'said' | 'requests'> {
  requests: { [K in keyof Figures['requests']]: Figures['requests'][K] | undefined };
  /** Lines, or texts that the tool counts. */
  said: readonly (string | Counted)[];
}

export interface Tool extends Omit<ToolEntry, 'version'> {
  /** The command that prints its version, and where that is in the output. */
  version: [command: string, pattern: RegExp];
  /**
   * A line for a shell in {@link ROOT}, as a reader can repeat it.
   * @param folder of the run, for what the tool writes; relative to ROOT
   */
  command(load: Load, folder: string): string;
  /** @throws if the output has no figures */
  read(output: Output): Report;
}

/** A tool waits so long for an answer, s, where that can be set. The answers of a default load take 5 s at most (saturate). */
export const TIMEOUT = 6;

/** Runs k6 as `npm run ramp` does. */
export const K6 = `GOGC=${FEW_COLLECTIONS.GOGC} ./k6 run --quiet --no-color`;

const UNITS: Record<string, number> = { us: 0.001, ms: 1, s: 1000, m: 60_000, secs: 1000 };

/** The time in ms that a text like `12.30ms` says; undefined: none. */
export function msOf(text: string | undefined): number | undefined {
  const [, value, unit = ''] = /^([\d.]+)\s*(us|ms|s|m|secs)$/.exec(text ?? '') ?? [];
  return value === undefined ? undefined : Number(value) * (UNITS[unit] as number);
}

/** The number that the first group of a pattern finds; undefined: none. */
export function numberIn(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The lines of a text that a pattern finds. */
export function linesWith(text: string, pattern: RegExp): string[] {
  return text.split('\n').flatMap((line) => (pattern.test(line) ? line.trim() : []));
}

/** The sum of what is counted. */
export function total(counts: readonly Counted[]): number {
  return counts.reduce((sum, [, count]) => sum + count, 0);
}

/** The figures of the result: without what the tool does not report, and what it says in at most five lines. */
export function figuresOf({ requests, said, ...times }: Report): Figures {
  return { ...times, requests: known(requests), said: folded(said) };
}

/** Makes like lines one with their number, `12 × reset`. They may differ by time and port. */
function folded(said: Report['said']): string[] {
  const counts = new Map<string, number>();
  for (const [line, times] of said.map((one): Counted => (typeof one === 'string' ? [one, 1] : one))) {
    const text = line
      .replace(/^\[?\d{4}-\d\d-\d\d[ T][\d:.,]+Z?\]? /, '')
      .replaceAll(/(127\.0\.0\.1:)\d+/g, '$1PORT');
    counts.set(text, (counts.get(text) ?? 0) + times);
  }
  const lines = [...counts].map(([text, times]) => (times === 1 ? text : `${count(times)} × ${text}`));
  return lines.slice(0, 5);
}

/**
 * A tool's latencies in ms, without those that it does not report.
 * @param values p50, p90, p99, p99.9 and the maximum
 * @param perMs of their unit: 0.001 of seconds
 */
export function times(values: readonly (number | null | undefined)[], perMs = 1) {
  const named = PERCENTILES.map((name, i) => [`${name}_ms`, (values[i] ?? Number.NaN) / perMs]);
  return known(Object.fromEntries(named) as Record<`${Percentile}_ms`, number>);
}

/** Leaves out what a tool does not report. */
function known<T extends object>(figures: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(figures).filter(([, value]) => value !== undefined && !Number.isNaN(value)),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
