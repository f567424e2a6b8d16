/** The seconds that the charts over time show, in the address of the page: whoever opens it sees the same. */
import type { Span } from './facts.ts';

const PATTERN = /^#zoom=(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/;

/** The seconds in an address; null: it has none. */
export function chosenZoom(hash: string): Span | null {
  const [, start = Number.NaN, end = Number.NaN] = (PATTERN.exec(hash) ?? []).map(Number);
  return start < end ? { start, end } : null;
}

/** Puts the seconds that are shown into the address, without an entry in the history. @param span null: all */
export function keepZoom(span: Span | null): void {
  if (span === null && chosenZoom(location.hash) === null) return;
  const tenth = (s: number) => Math.round(s * 10) / 10;
  const hash = span === null ? '' : `#zoom=${tenth(Math.max(0, span.start))}-${tenth(span.end)}`;
  history.replaceState(history.state, '', `${location.pathname}${location.search}${hash}`);
}
