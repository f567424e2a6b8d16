/** Figures and differences in words, for the page and the terminal alike. */
import { count, figure, ms } from '../page/format.ts';
import type { Difference, Row } from './comparison.ts';

/** Of a run that has failed messages. */
export const SURVIVORS = 'the figures are those of the other messages';

const GLUE = '\u00a0';

/** A value of a row, without its unit. */
export function value({ kind }: Row, number: number | null): string {
  return kind === 'latency' ? ms(number) : figure(number);
}

export function unit({ kind }: Row): string {
  return { latency: 'ms', rate: 'per second', count: '' }[kind];
}

/** +10.1 %, with a sign that tells the direction. */
export function change(relative: number | null | undefined): string {
  if (relative == null) return '–';
  const percent = relative * 100;
  const size = Math.abs(percent);
  const text = size.toFixed(size < 9.95 ? 1 : 0);
  const sign = Number(text) === 0 ? '±' : percent < 0 ? '−' : '+';
  return `${sign}${Number(text) >= 1000 ? count(Number(text)) : text}${GLUE}%`;
}

/** +8.0 % … +12 %; nothing where there is no interval. */
export function range(difference: Difference | null): string {
  if (difference?.interval == null) return '';
  const { low, high } = difference.interval;
  return `${change(low)} … ${change(high)}`;
}

/** arrival p99, queue mean, requests */
export function label(name: string): string {
  return name
    .replace(/^rate\./, '')
    .replace('from_send', 'from send')
    .replace('p999', 'p99.9')
    .replace('.', ' ');
}
