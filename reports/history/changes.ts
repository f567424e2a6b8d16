/** The series of runs of one load. Pure. */

import { lastChangePoint } from './change-point.ts';
import { type Change, type Entry, isSound, type LastingChange, type Point } from './entry.ts';

/** Points of a chart: older ones are left out. */
const MOST_POINTS = 200;

/** Whether p99 of a run is that of the pipeline, not in doubt, and of all messages. */
function usable(entry: Entry): boolean {
  const { live, arrival, account, generator } = entry;
  const whole = !live && generator === null && account.arrived === account.scheduled;
  return whole && isSound(entry) && arrival?.p99 != null;
}

/** The change of each run's p99 from the last usable run of the same load before it. @param entries newest first */
export function changes(entries: readonly Entry[]): Map<Entry, Change> {
  const found = new Map<Entry, Change>();
  const last = new Map<string, Entry>();
  for (const entry of entries.toReversed().filter(usable)) {
    const before = last.get(entry.like);
    last.set(entry.like, entry);
    const [was, is] = [before?.arrival?.p99 ?? 0, entry.arrival?.p99 ?? 0];
    if (before === undefined || was === 0) continue;
    found.set(entry, { from: before.directory, p99: is / was - 1, differs: differing(before, entry) });
  }
  return found;
}

function differing({ facts: before }: Entry, { facts: after }: Entry): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  // Another machine may explain it alone; another commit nearly always is there.
  const last = (name: string) => ({ machine: -1, commit: 1 })[name] ?? 0;
  return names
    .filter((name) => before[name] !== after[name])
    .sort((a, b) => last(a) - last(b))
    .map((name) => `${name}: ${before[name] ?? '–'} → ${after[name] ?? '–'}`);
}

/** The newest of them that have a p99, in the order they ran. @param entries newest first */
export function pointsOf(entries: readonly Entry[]): Point[] {
  const points = entries.flatMap((entry): Point[] => {
    const { directory, started, verdict, doubt, planned, limit, like, load, labels, topology, network } =
      entry;
    const p99 = entry.arrival?.p99;
    if (entry.live || p99 == null) return [];
    const named = {
      directory,
      started,
      verdict,
      doubt,
      planned,
      limit,
      like,
      load,
      labels,
      topology,
      network,
    };
    return [{ ...named, p99 }];
  });
  return points.slice(0, MOST_POINTS).toReversed();
}

/** The last lasting change of p99 of each load. @param entries newest first */
export function lastingChangesOf(entries: readonly Entry[]): LastingChange[] {
  const newest = entries.filter(usable).slice(0, MOST_POINTS).toReversed();
  return [...Map.groupBy(newest, ({ like }) => like)].flatMap(([like, runs]): LastingChange[] => {
    const found = lastChangePoint(
      runs.map(({ arrival }) => arrival?.p99 ?? 0),
      runs.map(({ calibration }) => calibration),
    );
    const [before, after] = found === null ? [] : [runs[found.at - 1], runs[found.at]];
    if (found === null || before === undefined || after === undefined) return [];
    const place = {
      number: found.at + 1,
      of: runs.length,
      started: after.started,
      directory: after.directory,
    };
    return [
      {
        ...{
          like,
          ...place,
          from: before.directory,
          p99: found.ratio - 1,
          differs: differing(before, after),
        },
        ...(found.adjusted !== undefined && { adjusted: found.adjusted - 1 }),
        ...(found.machine !== undefined && { machine: found.machine === null ? null : found.machine - 1 }),
        ...(found.back !== undefined && { back: found.back + 1 }),
      },
    ];
  });
}

/** The orders of a list. */
const ORDERS = {
  started: ({ started }: Entry) => started,
  p50: ({ arrival }: Entry) => arrival?.p50,
  p99: ({ arrival }: Entry) => arrival?.p99,
  change: (entry: Entry, all: Map<Entry, Change>) => all.get(entry)?.p99,
  messages: ({ account }: Entry) => account.scheduled,
  missed: ({ missed }: Entry) => missed?.messages ?? 0,
};
export type Order = keyof typeof ORDERS;
export const ORDER_NAMES = Object.keys(ORDERS) as Order[];

/** Sorts runs by a column; runs without a value come last, and equal ones stay newest first. */
export function inOrder(
  entries: readonly Entry[],
  all: Map<Entry, Change>,
  order: Order,
  ascending: boolean,
): Entry[] {
  const sign = ascending ? 1 : -1;
  return entries.toSorted((one, other) => {
    const [a, b] = [ORDERS[order](one, all) ?? null, ORDERS[order](other, all) ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a === b ? 0 : a < b ? -sign : sign;
  });
}
