/** Says by what a check of Artillery's plugin ensure has failed that names a figure of arrival: ensure itself only repeats the check. */
import type { EventEmitter } from 'node:events';
import { like } from '../../pipeline/shared/flags.ts';

/** A check as ensure judged it: 1 is a pass. */
interface Check {
  original: string;
  result: unknown;
}

/** The report of a run. */
interface Stats {
  counters?: Record<string, number>;
  summaries?: Record<string, Record<string, number>>;
}

/** @param events Artillery's own, of its main thread */
export function explainChecks(events: Pick<EventEmitter, 'on'>): void {
  let figures: Record<string, number> = {};
  events.on('done', (stats: Stats) => {
    figures = figuresOf(stats);
  });
  events.on('checks', (checks: Check[]) => {
    const failed = checks.filter(({ result }) => result !== 1);
    const lines = failed.flatMap(({ original }) => reasons(original, figures));
    // Artillery prints the checks themselves in this turn, and may end the process in the next one.
    queueMicrotask(() => {
      for (const line of lines) console.log(`arrival: ${line}`);
    });
  });
}

/** The figures of arrival in a report, by the names that ensure gives them. */
function figuresOf({ counters = {}, summaries = {} }: Stats): Record<string, number> {
  const all = Object.entries(summaries).flatMap(([name, of]) =>
    Object.entries(of).map(([statistic, value]): [string, number] => [`${name}.${statistic}`, value]),
  );
  const own = [...Object.entries(counters), ...all].filter(([name]) => name.startsWith('arrival.'));
  return Object.fromEntries(own);
}

/** The values of the figures that a check names. */
export function reasons(check: string, figures: Record<string, number>): string[] {
  const known = Object.keys(figures);
  return (check.match(/\barrival(\.\w+)+/g) ?? []).map((name) => {
    if (name in figures) return `${name} is ${figures[name]}, and ensure wants ${check}`;
    const last = name.slice(name.lastIndexOf('.'));
    const meant = known.find((one) => one.endsWith(last));
    const hint = meant === undefined ? like(name, known) : `, ${meant} is`;
    return `ensure wants ${check}, and ${name} is not in the report${hint}; allowed: ${known.join(', ')}`;
  });
}
