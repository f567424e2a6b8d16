import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from '../../reports/run.ts';
import { printable } from '../printable.ts';

/**
 * What became of the messages of the one run in a folder of runs, in words; rejects unless all arrived, and with `failure`, how k6
 * ended, unless that is for what a busy machine sent late: it makes a run invalid, and says nothing of containers.
 */
export async function arrivals(runs: string, failure: Error | undefined): Promise<string> {
  const [name] = await readdir(runs);
  if (name === undefined) throw failure ?? new Error('k6 left no run');
  const { account, verdict } = JSON.parse(await readFile(join(runs, name, 'run.json'), 'utf8')) as Run;
  const { scheduled, arrived, deliveries, balanced } = account;
  const why = verdict.reasons.length > 0 ? ` (${printable(verdict.reasons.join('; '))})` : '';
  const told = `${arrived} of ${scheduled} messages arrived, ${verdict.result}${why}`;
  const sound = failure === undefined || verdict.result === 'invalid';
  if (!sound || !balanced || scheduled === 0 || arrived !== scheduled || deliveries.missing > 0)
    throw new Error(told, { cause: failure });
  return told;
}

/** How something failed, or that it did not. */
export const failureOf = (work: Promise<unknown>): Promise<Error | undefined> =>
  work.then(
    () => undefined,
    (error: Error) => error,
  );
