// Numbers in words, for k6, which has no Intl. reports/format.ts and extensions/k6/internal/words write the same:
// reports/contract/words.vectors.json holds them together.

/** @import { Latency, Step } from '../../reports/contract/run.ts' */

/** The value of an unknown figure, which fails any threshold. */
export const UNKNOWN = 1e9;

/** A whole number with thousands separators. */
export const count = (/** @type {number} */ n) => fixed(Math.round(n), 0);

/** Milliseconds without the unit: 3 significant digits, at most 3 decimals. */
export const ms = (/** @type {number | null} */ n) =>
  n !== null && Number.isFinite(n) ? fixed(n, places(n, 3)) : 'n/a';

/** A rate, seconds or megabytes without the unit: at most one decimal from 1 on, 2 significant digits below it. */
export function figure(/** @type {number} */ n) {
  if (!Number.isFinite(n)) return 'n/a';
  const size = Math.abs(n);
  const small = size > 0 && size < 1;
  const decimals = small ? Math.min(3, Math.max(0, 1 - magnitude(n, 2))) : places(n, 1);
  const text = fixed(n, decimals);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/**
 * Things a second with their unit: 400 requests/s.
 * @param {number} perSecond
 * @param {string} things
 */
export const rate = (perSecond, things) => `${figure(perSecond)} ${things}/s`;

/** 24 s, 1 min 30 s, 2 h */
export function duration(/** @type {number} */ seconds) {
  if (seconds < 59.95) return `${figure(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = /** @type {[number, string][]} */ ([
    [Math.floor(whole / 3600), 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ]);
  return parts.flatMap(([n, unit]) => (n > 0 ? [`${count(n)} ${unit}`] : [])).join(' ');
}

/** A time of a run as charts show it: 5:00, 1:05:00. */
export function clock(/** @type {number} */ seconds) {
  const two = (/** @type {number} */ n) => `${Math.floor(n)}`.padStart(2, '0');
  const [h, m, s] = [Math.floor(seconds / 3600), (seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${Math.floor(m)}:${two(s)}`;
}

/** @param {number} n  @param {number} decimals at most */
function places(n, decimals) {
  return n === 0 ? 0 : Math.min(decimals, Math.max(0, 2 - magnitude(n, 3)));
}

/** @param {number} n  @param {number} digits that are significant */
function magnitude(n, digits) {
  return Number(n.toExponential(digits - 1).split('e')[1]);
}

/** Rounds what lies in the middle to the even digit, as Go does. @param {number} n  @param {number} decimals */
function fixed(n, decimals) {
  const up = n.toFixed(decimals);
  const middle = Math.abs(n * 2 ** (decimals + 1)) % 2 === 1 && Number(up.at(-1)) % 2 === 1;
  const text = middle ? (n - Math.sign(n) * 0.25 * 10 ** -decimals).toFixed(decimals) : up;
  const [whole, ...rest] = text.replace('-', '').split('.');
  const minus = text.startsWith('-') && /[1-9]/.test(text) ? '−' : '';
  return minus + [whole.replace(/\B(?=(\d{3})+$)/g, ','), ...rest].join('.');
}

/**
 * A step of a run in one line, for a script that reports while it runs.
 * @param {Pick<Step, 'name' | 'arrived' | 'scheduled' | 'backlog'> & { latency: { arrival: Pick<Latency, 'p50' | 'p99' | 'max'> } }} step
 */
export function line({ name, arrived, scheduled, backlog, latency: { arrival } }) {
  return (
    `${name}: ${count(scheduled)} scheduled, ${count(arrived)} deliveries, p50 ${ms(arrival.p50)} ms, p99 ${ms(arrival.p99)} ms, ` +
    `max ${ms(arrival.max)} ms, backlog ${backlog == null ? 'n/a' : count(backlog)}`
  );
}
