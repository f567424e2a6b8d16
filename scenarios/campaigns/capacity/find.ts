import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Run } from '../../../reports/contract/run.ts';
import { annotate } from '../../../reports/k6.ts';
import { type IO, linkTo, print } from '../../run/io.ts';
import { answerFigures, answerOf, line, probesOf, type Row, type Settings, sentence } from './answer.ts';
import { about, type Budget } from './budget.ts';
import { judge } from './judge.ts';
import {
  type Bracket,
  confirm,
  NOTHING,
  narrowed,
  type Outcome,
  type Search,
  search,
  tried,
} from './search.ts';

/** The search, the lengths of its runs, in s, and its time. */
export interface Plan {
  wanted: Search;
  lengths: { quick: number; probe: number };
  budget: Budget;
}

/**
 * @param run runs one rate for so many seconds, in a directory
 * @returns the exit code
 */
export async function findCapacity(
  settings: Settings & { P99: number; MINUTES: number },
  { wanted, lengths, budget }: Plan,
  dir: string,
  io: IO,
  run: (rate: number, seconds: number, runDir: string) => Promise<void>,
): Promise<number> {
  const rows: Row[] = [];
  let lastNot: Run | undefined;
  /**
   * Runs one rate, and prints its result in a line.
   * @param ahead about how much of the search is left after it, s
   */
  const attempt = async (
    rate: number,
    seconds: number,
    runDir: string,
    ahead: (holds: boolean) => number,
  ): Promise<Outcome> => {
    const started = performance.now();
    await run(rate, seconds, runDir);
    budget.took(seconds, (performance.now() - started) / 1000);
    const found = JSON.parse(await readFile(join(runDir, 'run.json'), 'utf8')) as Run;
    const { outcome, why } = judge(found);
    if (outcome === 'not held') lastNot = found;
    const row = { rate, seconds, outcome, p99_ms: found.latency.arrival.p99, why };
    rows.push(row);
    print(io, line(row, ahead(outcome === 'held')));
    return outcome;
  };
  const probe = (rate: number, known: Bracket): Promise<boolean> => {
    const seconds = known.held === 0 || known.notHeld === undefined ? lengths.quick : lengths.probe;
    const place = () => join(dir, 'probes', `${rows.length + 1}-${rate}`);
    const ahead = (holds: boolean) => budget.ofSearch(narrowed(known, rate, holds), wanted);
    return tried(
      () => attempt(rate, seconds, place(), ahead),
      () => budget.hasProbe,
    );
  };
  const check = async (rate: number, known: Bracket): Promise<boolean> => {
    const ahead = (holds: boolean) => budget.ofConfirming(narrowed(known, rate, holds), wanted);
    return tried(
      async () => {
        // It has the name of the search, whose report it becomes if it holds, or if none has held so far.
        const runDir = join(dir, 'probes', `${rows.length + 1}-${rate}`, basename(dir));
        const outcome = await attempt(rate, settings.CONFIRM, runDir, ahead);
        if (outcome === 'held' || known.held === 0)
          for (const file of await readdir(runDir)) await rename(join(runDir, file), join(dir, file));
        return outcome;
      },
      () => budget.hasConfirmation,
    );
  };

  budget.begin();
  print(
    io,
    `search  about ${about(budget.ofSearch(NOTHING, wanted))}, at most ${about(settings.MINUTES * 60)} (MINUTES)`,
  );
  const probed = await search(wanted, probe, () => budget.hasProbe);
  const found = await confirm(probed, wanted, check, () => budget.hasConfirmation);
  const above = found.notHeld ?? probed.notHeld;
  // A probe's result counts unless a longer run contradicts it.
  const notHeld = above !== undefined && above > found.held ? above : undefined;
  const bottleneck = lastNot?.facts.bottleneck?.text ?? null;
  const result = answerOf(rows, settings.P99, { held: found.held, notHeld }, bottleneck);
  const enough = budget.enoughFor({ held: found.held, notHeld }, wanted);
  const answer = sentence(result, rows, settings, enough);
  if (probed.held > 0) {
    const list = { ...result, probes: rows };
    await writeFile(join(dir, 'capacity.json'), `${JSON.stringify(list, null, 2)}\n`);
    await annotate(dir, { figures: answerFigures(result, rows), probes: probesOf(rows) }, answer);
  }
  print(io, `\n${answer}`);
  if (probed.held > 0) print(io, `report  ${linkTo(join(dir, 'index.html'), io)}`);
  return result.rate === null ? 99 : 0;
}
