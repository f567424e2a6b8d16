/** Numbers, times and foreign text as the page writes them: 3 significant digits, thousands separators, en-US, UTC. */

const NONE = '–';
/** No line break between a number and its unit. */
const GLUE = '\u00a0';
/** Larger numbers are written as 1.00e+300: hundreds of digits break a layout. */
const MOST = Number.MAX_SAFE_INTEGER;

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

/** Milliseconds without the unit: 3 significant digits, no finer than 1 µs, whole from 100 on. */
export function ms(value: number | null | undefined): string {
  return number(value, 3);
}

/** 12.3 ms */
export function msUnit(value: number | null | undefined): string {
  return value == null ? NONE : `${ms(value)}${GLUE}ms`;
}

/** A sentence from elsewhere, whose lines do not break between a number and its unit. */
export function glued(sentence: string): string {
  return sentence.replace(/(\d) (?=(?:%|ms|s|MB|messages\/s|requests\/s)(?![\w/]))/g, `$1${GLUE}`);
}

/** A whole number: 89,300 */
export function count(value: number | null | undefined): string {
  return value == null ? NONE : local(Math.round(value));
}

/** With thousands separators, and as many decimals as the options allow. */
export function local(value: number, options: Intl.NumberFormatOptions = {}): string {
  if (Math.abs(value) > MOST) return value.toExponential(2);
  const key = JSON.stringify(options);
  const format = FORMATS.get(key) ?? new Intl.NumberFormat('en-US', options);
  FORMATS.set(key, format);
  return format.format(value);
}

/** By their options: toLocaleString makes one each time, which took a fifth of the time of a page. */
const FORMATS = new Map<string, Intl.NumberFormat>();

/** Something per second, percent of a core, megabytes: 3 significant digits, at most one decimal. */
export function figure(value: number | null | undefined): string {
  return number(value, 1);
}

/** Formats a script's figure in a unit of its own: whole numbers as they are, others as {@link ms}. */
export function compact(value: number): string {
  return Number.isInteger(value) ? count(value) : ms(value);
}

/** A share of 1 as 41 %; with a decimal below 1 % and above 99 %. Not all is never 100 %. */
export function percent(share: number | null | undefined): string {
  if (share == null || !Number.isFinite(share)) return NONE;
  const value = share * 100;
  const size = Math.abs(value);
  if (size > 0 && size < 0.05) return `<${GLUE}0.1${GLUE}%`;
  if (value >= 99.95 && value < 100) return `>${GLUE}99.9${GLUE}%`;
  const fine = (size > 0 && size < 0.95) || (size >= 99.5 && size < 99.95);
  return `${value.toFixed(fine ? 1 : 0)}${GLUE}%`;
}

/** +60 %, ×12 */
export function changeText(share: number): string {
  return share < 1 ? `${share < 0 ? '−' : '+'}${percent(Math.abs(share))}` : `×${figure(1 + share)}`;
}

/** A share of 1 that a limit is on: 99.95 %. Not all is never 100 %. */
export function percentWithin(share: number | null): string {
  if (share === null) return NONE;
  return share < 1 && share > 0.9999 ? '> 99.99 %' : `${Number((100 * share).toFixed(2))} %`;
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

/** 51.3 s, 2 min 5 s */
export function duration(seconds: number): string {
  if (seconds < 120) return `${number(seconds, 1)}${GLUE}s`;
  const whole = Math.round(seconds);
  const parts: [number, string][] = [
    [Math.floor(whole / 3600), 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ];
  return parts.flatMap(([n, unit]) => (n > 0 ? [`${n}${GLUE}${unit}`] : [])).join(' ');
}

/** 2026-11-21 09:48:00 UTC; what is no date stays as it is. */
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

function number(value: number | null | undefined, decimals: number): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  const size = Number(Math.abs(value).toPrecision(3));
  if (size > MOST) return value.toExponential(2);
  const magnitude = size === 0 ? 0 : Math.floor(Math.log10(size));
  const places = size === 0 ? 0 : Math.min(decimals, Math.max(0, 2 - magnitude));
  const text = local(Number(fixed(value, places)), { minimumFractionDigits: places });
  return decimals === 1 ? text.replace(/\.0$/, '') : text;
}

/** As Go writes it, so that the terminal and the page say the same: toFixed rounds what lies in the middle up, Go to the even digit. */
function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const middle = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  const odd = Number(text.at(-1)) % 2 === 1;
  return middle && odd ? (value - Math.sign(value) * 0.25 * 10 ** -digits).toFixed(digits) : text;
}
