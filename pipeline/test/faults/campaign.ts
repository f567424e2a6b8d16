import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { said } from '../../../reports/account.ts';
import { type Account, ENDS, type Run } from '../../../reports/contract/run.ts';
import { count, plain, rate } from '../../../reports/format.ts';
import { type RigOptions, startRig } from './build.ts';
import { type Case, type Scale, Scene } from './case.ts';
import { alteredCases } from './cases/altered.ts';
import { brokerCases } from './cases/broker.ts';
import { changeCases } from './cases/changes.ts';
import { clockCases } from './cases/clock.ts';
import { fullCases } from './cases/full.ts';
import { ingestCases } from './cases/ingest.ts';
import { redisCases } from './cases/redis.ts';
import { relayCases } from './cases/relay.ts';
import { runCases } from './cases/run.ts';
import { subscriberCases } from './cases/subscriber.ts';
import type { Check } from './checks.ts';
import type { Rig } from './rig.ts';

/** Every case, by row. Rows 25, 28 and 31 are tests of the instrument, in `npm run selftest`. */
export const CASES: readonly Case[] = [
  ...relayCases,
  ...redisCases,
  ...fullCases,
  ...clockCases,
  ...changeCases,
  ...alteredCases,
  ...brokerCases,
  ...subscriberCases,
  ...ingestCases,
  ...runCases,
].sort((a, b) => a.row - b.row);

/** The time limit of a case, s. */
const CASE_LIMIT_S = 180;

/** The result of a case. */
export interface Result {
  row: number;
  fault: string;
  expected: string;
  ok: boolean;
  checks: Check[];
  account: Account | null;
  /** Why it did not reach its end. */
  error: string | null;
  seconds: number;
}

/**
 * Plays a case on its own pipeline, below `dir`. Its files stay when an expectation was not met. `interrupted` rejects when
 * the campaign has to end; `harmless` does no harm.
 */
export async function play(
  one: Case,
  scale: Scale,
  dir: string,
  interrupted: Promise<never>,
  harmless = false,
): Promise<Result> {
  const since = performance.now();
  const place = join(dir, `row-${one.row}`);
  const rigs: Promise<Rig>[] = [];
  let over = false;
  const scene = new Scene(
    scale,
    (options) => {
      if (over) throw new Error('the case is over');
      const rig = newRig(join(place, `rig-${rigs.length + 1}`), options);
      rigs.push(rig);
      return rig;
    },
    harmless,
  );
  let run: Run | undefined;
  let error: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  try {
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not over after ${CASE_LIMIT_S} s`)), 1000 * CASE_LIMIT_S);
    });
    run = await Promise.race([one.play(scene), limit, interrupted]);
  } catch (reason) {
    error = (reason as Error).message;
  } finally {
    clearTimeout(timer);
    // An aborted case continues until it notices; stop what it still starts.
    over = true;
    for (const rig of await Promise.allSettled(rigs)) if (rig.status === 'fulfilled') await rig.value.stop();
  }
  const checks = scene.checks.all;
  const ok = error === null && checks.length > 0 && checks.every((check) => check.ok);
  if (ok) await rm(place, { recursive: true, force: true });
  return {
    row: one.row,
    fault: one.fault,
    expected: one.expected,
    ok,
    checks,
    account: run?.account ?? null,
    error,
    seconds: (performance.now() - since) / 1000,
  };
}

async function newRig(at: string, options: RigOptions): Promise<Rig> {
  await mkdir(at, { recursive: true, mode: 0o700 });
  return startRig(at, options);
}

/** The checks in a line: all of them, or those that failed. */
export function seen({ ok, checks, error }: Result): string {
  const shown = ok ? checks : checks.filter((check) => !check.ok);
  return [
    ...shown.map(({ what, seen: value }) => `${what} ${value}`),
    ...(error === null ? [] : [error]),
  ].join(', ');
}

/** `52,000 = 51,998 arrived + 2 rejected`: the ends that are not 0. */
export function equation(account: Account | null): string {
  if (account === null) return '';
  const ends = ENDS.filter((end) => (account[end] ?? 0) > 0).map(
    (end) => `${count(account[end] ?? 0)} ${said(end)}`,
  );
  const beside = account.duplicates > 0 ? `; ${count(account.duplicates)} duplicates` : '';
  return `${count(account.scheduled)} = ${ends.join(' + ') || '0'}${beside}`;
}

/** The campaign as a Markdown table. */
export function markdown(results: readonly Result[], scale: Scale): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const rows = results.map((result) =>
    [
      String(result.row),
      result.fault,
      result.expected,
      `${result.ok ? '' : '**not as expected**: '}${seen(result)}`,
      equation(result.account),
    ]
      .map(cell)
      .join(' | '),
  );
  return [
    '# Fault campaign',
    '',
    `${results.filter(({ ok }) => ok).length} of ${results.length} as expected; ${plain(rate(scale.rate, 'messages'))}.`,
    '',
    '| # | fault | expected | seen | account |',
    '| --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row} |`),
    '',
  ].join('\n');
}
