/** The seconds that all charts over time show, and the figures of these. */
import type { Run } from '../contract/run.ts';
import type { TimeRange } from './facts.ts';
import { binStart, cells, merged } from './heat.ts';

let tell: (shown: TimeRange | null) => void = () => {};

/** Says which seconds are shown from now on. @param shown null: all */
export function zoomed(shown: TimeRange | null): void {
  tell(shown);
}

/** Subscribes to zoom changes. @returns a function that unsubscribes */
export function onZoom(heard: typeof tell): () => void {
  tell = heard;
  return () => {
    tell = () => {};
  };
}

export interface WindowFigures {
  seconds: number;
  /** Messages/s that were due. */
  rate: number;
  /** Percentiles, ms, by tenths of a decade; null: too few deliveries arrived in these seconds. */
  p50: number | null;
  p99: number | null;
  /** Lost messages that were due in these seconds; null: not known, as more are lost than are named. */
  lost: number | null;
}

/** Sums over the seconds whose middle lies in a span; null: none does. */
export function windowOf(run: Run, { start, end }: TimeRange): WindowFigures | null {
  const inside = run.timeline.filter(({ t }) => t + 0.5 >= start && t + 0.5 <= end);
  const [first] = inside;
  if (first === undefined) return null;
  const [from, to] = [first.t, first.t + inside.length];
  const [all] = merged(
    inside.map(({ t, arrival_bins = null }) => ({ start: t, end: t + 1, bins: arrival_bins })),
    1,
  );
  const bins = all ? cells(all) : [];
  const named = (run.messages?.named ?? []).filter((message) => message.end === 'lost');
  const began = Date.parse(run.run.started);
  const due = named.map((message) => (Date.parse(message.due ?? '') - began) / 1000);
  return {
    seconds: inside.length,
    rate: inside.reduce((sum, { scheduled }) => sum + scheduled, 0) / inside.length,
    p50: quantile(bins, 0.5),
    p99: quantile(bins, 0.99),
    lost:
      run.account.lost === 0
        ? 0
        : run.account.lost === named.length && due.every(Number.isFinite)
          ? due.filter((s) => s >= from && s < to).length
          : null,
  };
}

/** A quantile of what lies in bins, ms: as far through its bin, logarithmically, as its rank. */
export function quantile(bins: [bin: number, count: number][], share: number): number | null {
  const all = bins.reduce((sum, [, count]) => sum + count, 0);
  if (all * (1 - share) < 1) return null;
  let below = 0;
  for (const [bin, count] of bins) {
    if (below + count >= share * all) return binStart(bin + (share * all - below) / count);
    below += count;
  }
  return null;
}

/** The seconds in an address: whoever opens it sees the same. */
const PATTERN = /^#zoom=(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/;

/** The seconds in an address; null: it has none. */
export function chosenZoom(hash: string): TimeRange | null {
  const [, start = Number.NaN, end = Number.NaN] = (PATTERN.exec(hash) ?? []).map(Number);
  return start < end ? { start, end } : null;
}

/** Puts the seconds that are shown into the address, without an entry in the history. @param span null: all */
export function keepZoom(span: TimeRange | null): void {
  if (span === null && chosenZoom(location.hash) === null) return;
  const tenth = (s: number) => Math.round(s * 10) / 10;
  const hash = span === null ? '' : `#zoom=${tenth(Math.max(0, span.start))}-${tenth(span.end)}`;
  history.replaceState(history.state, '', `${location.pathname}${location.search}${hash}`);
}
