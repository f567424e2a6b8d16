/**
 * Numbers, shares, times and foreign text as pages and terminals write them: 3 significant digits, thousands separators, en-US, UTC.
 * extensions/k6/internal/words writes the same for terminals: contract/words.vectors.json holds both together.
 */

/** Stands where a value is not known; terminals have n/a there. */
const NONE = '–';
/** No line break between a number and its unit. */
const GLUE = '\u00a0';
/** Larger numbers are written as 1.00e+300: hundreds of digits break a layout. */
const MOST = Number.MAX_SAFE_INTEGER;
/** A change is printed as a ratio from this one on, and below its inverse. */
const MANY_TIMES = 10;

/** Whether text has bidi controls. */
export function turns(text: string): boolean {
  return /\p{Bidi_Control}/u.test(text);
}

/**
 * Foreign text with its bidi controls in words, `[U+202E]`: they are invisible, and what follows them reads in another order than
 * the text has, up to the end of its paragraph or of what isolates it.
 */
export function visible(text: string): string {
  return text.replace(
    /\p{Bidi_Control}/gu,
    (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** A text of the page for a terminal, which breaks lines itself. */
export function plain(text: string): string {
  return text.replaceAll(GLUE, ' ');
}

/** Milliseconds without the unit: 3 significant digits, no finer than 1 µs, whole from 100 on. */
export function ms(value: number | null | undefined): string {
  return unknown(value) ? NONE : fixed(value, places(value, 3));
}

/** 12.3 ms */
export function msUnit(value: number | null | undefined): string {
  return value == null ? NONE : `${ms(value)}${GLUE}ms`;
}

/** A sentence from elsewhere, whose lines do not break between a number and its unit. */
export function glued(sentence: string): string {
  return sentence.replace(/(\d) (?=(?:%|ms|s|min|h|MB|messages\/s|requests\/s)(?![\w/]))/g, `$1${GLUE}`);
}

/** A whole number: 89,300 */
export function count(value: number | null | undefined): string {
  return unknown(value) ? NONE : fixed(Math.round(value), 0);
}

/** A label of an axis, with as many digits as the options allow. */
export function local(value: number, options: Intl.NumberFormatOptions = {}): string {
  if (Math.abs(value) > MOST) return fixed(value, 0);
  const key = JSON.stringify(options);
  const format = FORMATS.get(key) ?? new Intl.NumberFormat('en-US', options);
  FORMATS.set(key, format);
  return format.format(value).replace('-', '−');
}

/** The formats by their options: toLocaleString makes one each time, which took a fifth of the time of a page. */
const FORMATS = new Map<string, Intl.NumberFormat>();

/**
 * Something per second, percent of a core, megabytes: 3 significant digits and all of a whole number, at most one decimal from 1 on,
 * and 2 significant digits below it.
 */
export function figure(value: number | null | undefined): string {
  if (unknown(value)) return NONE;
  return trimmed(value, figurePlaces(value));
}

function figurePlaces(value: number): number {
  const size = Math.abs(value);
  return size > 0 && size < 1 ? Math.min(3, Math.max(0, 1 - magnitude(value, 2))) : places(value, 1);
}

/** Formats a script's figure in a unit of its own: whole numbers as they are, others as {@link ms}. */
export function compact(value: number | null | undefined): string {
  return unknown(value) ? NONE : fixed(value, compactPlaces(value));
}

/** A compact figure with its unit; a share of 100 as {@link percent} writes it. */
export function withUnit(value: number | null | undefined, unit: string): string {
  if (unknown(value)) return NONE;
  if (unit === '%') return percentText(value, sharePlaces(value));
  return joined(rated(unit) ? figure(value) : compact(value), unit);
}

/** Whether a unit is one of rates, as requests/s is. */
function rated(unit: string): boolean {
  return unit.endsWith('/s');
}

/**
 * A figure that a limit is on, with its unit. It has as many digits as show on which side of the limit it is: 98.75 % against 99 %
 * is never 99 %.
 */
export function against(value: number | null, limit: number | null, unit: string): string {
  if (unknown(value) || unknown(limit)) return withUnit(value, unit);
  const places = unit === '%' ? sharePlaces : rated(unit) ? figurePlaces : compactPlaces;
  const start = places(value);
  const digits = apart(value, limit, start);
  return digits === start ? withUnit(value, unit) : joined(fixed(value, digits), unit);
}

/** A share of 1: whole per cent from 1 to 99 %, up to two decimals nearer to the ends. Never rounded to 0 % or 100 %. */
export function percent(share: number | null | undefined): string {
  return unknown(share) ? NONE : percentText(share * 100, sharePlaces(share * 100));
}

function percentText(value: number, decimals: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < 0.005) return `<${GLUE}0.01${GLUE}%`;
  if (value >= 99.995 && value < 100) return `>${GLUE}99.99${GLUE}%`;
  return `${trimmed(value, decimals)}${GLUE}%`;
}

function sharePlaces(value: number): number {
  const size = Math.abs(value);
  return size < 1 || (size > 99 && size < 100) ? 2 : 0;
}

/** A relative change: +57 %, −3.2 %, and from ten times on ×916 or ÷12. */
export function changeText(share: number | null): string {
  if (unknown(share)) return NONE;
  const ratio = 1 + share;
  if (ratio >= MANY_TIMES) return `×${figure(ratio)}`;
  if (ratio > 0 && ratio <= 1 / MANY_TIMES) return `÷${figure(1 / ratio)}`;
  return changed(100 * share, changePlaces(100 * share));
}

/** A change that a limit is on, with as many digits as show on which side of the limit it is. */
export function changeAgainst(share: number, limit: number): string {
  const start = changePlaces(100 * share);
  const digits = apart(100 * share, 100 * limit, start);
  return digits > start ? changed(100 * share, digits) : changeText(share);
}

function changed(value: number, decimals: number): string {
  const size = Math.abs(value);
  if (decimals === 2 && size > 0 && size < 0.005) return `<${GLUE}0.01${GLUE}%`;
  return `${value > 0 ? '+' : ''}${trimmed(value, decimals)}${GLUE}%`;
}

/** The decimals of two significant digits, at most two. */
function changePlaces(value: number): number {
  return value === 0 ? 0 : Math.min(2, Math.max(0, 1 - magnitude(value, 2)));
}

/** Things a second, with their unit: 400 requests/s */
export function rate(perSecond: number | null | undefined, things: string): string {
  return unknown(perSecond) ? NONE : `${figure(perSecond)}${GLUE}${things}/s`;
}

/** A percentile, cut to so many decimals: 99.9997 is never 100. */
export function percentileText(percentile: number, decimals: number): string {
  const scale = 10 ** decimals;
  // Some percentiles come from logarithms, and lie just below what they are.
  return `${Math.floor(percentile * scale + 1e-6) / scale}`;
}

/** Seconds since the start of the run: 0:07, 1:02:03 */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Time of day, UTC, of ms since 1970: 09:48:30 UTC */
export function timeOfDay(epoch: number): string {
  return `${new Date(epoch).toISOString().slice(11, 19)} UTC`;
}

/** 51.3 s, 2 min 5 s, 2 h */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return NONE;
  if (seconds < 59.95) return `${figure(seconds)}${GLUE}s`;
  const whole = Math.round(seconds);
  const parts: [number, string][] = [
    [Math.floor(whole / 3600), 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ];
  return parts.flatMap(([n, unit]) => (n > 0 ? [`${count(n)}${GLUE}${unit}`] : [])).join(' ');
}

/** 2026-11-21 09:48:00 UTC; a text that is not a date stays as it is. */
export function instant(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The first ten digits of a commit. */
export function commit(hash: string): string {
  return hash.slice(0, 10);
}

/** `count` things, in the singular for one. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

function unknown(value: number | null | undefined): value is null | undefined {
  return value == null || !Number.isFinite(value);
}

function joined(figure: string, unit: string): string {
  return unit === '' ? figure : `${figure}${GLUE}${unit}`;
}

/** The decimals, no fewer than `start`, with which the printed value is on the same side of the limit as the value is. */
function apart(value: number, limit: number, start: number): number {
  const finest = 17;
  const [is, allowed] = [decimal(value), decimal(limit)];
  for (let digits = start; digits < finest; digits++) {
    if (Math.sign(Number(rounded(is, digits)) - allowed) === Math.sign(is - allowed)) return digits;
  }
  return finest;
}

/** The number that was meant: a share of 0.57 makes 56.99999999999999 %. */
function decimal(value: number): number {
  return Number(value.toPrecision(15));
}

/** The number that {@link ms} writes. */
export function shown(value: number): number {
  return Number(rounded(value, places(value, 3)));
}

/** Writes a number with exactly so many decimals, for columns of figures that are compared. */
export function exactly(value: number, decimals: number): string {
  return fixed(value, decimals);
}

/** All digits of a number that was set, up to 15. */
export function exact(value: number): string {
  return significant(value, 15);
}

/** Writes a number with so many significant digits, however small it is. */
export function significant(value: number, digits: number): string {
  return value === 0 ? '0' : trimmed(value, Math.max(0, digits - 1 - magnitude(value, digits)));
}

function compactPlaces(value: number): number {
  return Number.isInteger(value) ? 0 : places(value, 3);
}

/** The decimals of three significant digits, of which there are at most so many. */
function places(value: number, decimals: number): number {
  return value === 0 ? 0 : Math.min(decimals, Math.max(0, 2 - magnitude(value, 3)));
}

/** The power of ten of a number that is rounded to so many significant digits. */
function magnitude(value: number, digits: number): number {
  return Number(value.toExponential(digits - 1).split('e')[1]);
}

/** {@link fixed} without zeros at its end. */
function trimmed(value: number, decimals: number): string {
  const text = fixed(value, decimals);
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/, '') : text;
}

/** Writes a number with thousands separators and a minus; zero has no sign. */
function fixed(value: number, decimals: number): string {
  const text = Math.abs(value) > MOST ? value.toExponential(2) : rounded(value, decimals);
  const [, sign, whole = '', rest] = /^(-?)(\d+)(.*)$/.exec(text) ?? [];
  const minus = sign === '-' && /[1-9]/.test(text) ? '−' : '';
  return `${minus}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${rest}`;
}

/** Rounds as Go does: toFixed rounds a middle value up, Go to the even digit. */
function rounded(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const middle = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  const odd = Number(text.at(-1)) % 2 === 1;
  return middle && odd ? (value - Math.sign(value) * 0.25 * 10 ** -digits).toFixed(digits) : text;
}
