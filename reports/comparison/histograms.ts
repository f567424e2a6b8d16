/** HdrHistograms as a run holds them: V2 encoding, deflated, in base64. */
import { inflateSync } from 'node:zlib';
import { decodeFromCompressedBase64, type Histogram } from 'hdr-histogram-js';
import limits from '../contract/limits.json' with { type: 'json' };

/** Public fields of the library's histograms that its types lack. Its iterator takes four times as long. */
export interface Indexed {
  countsArrayLength: number;
  getCountAtIndex(index: number): number;
  valueFromIndex(index: number): number;
  lowestEquivalentValue(value: number): number;
}

/** The length of an encoded histogram's head, and the offsets of the digits and of the highest value in it. */
const HEAD = { length: 40, digits: 12, highest: 24 };
/** The cookie and the length before the deflated bytes. */
const PREFIX = 8;
/** How the cookie looks in base64. The library decodes nothing else. */
const COOKIE = 'HIST';
const ENCODED = /HIST[A-Za-z0-9+/=]*/g;

/**
 * Looks at an encoded histogram before the library, which has no bounds, decodes it.
 * @returns its inflated size; 0: it is none, which is left to the decoder
 * @throws if it is larger than any run's
 */
function checkHistogram(text: string): number {
  if (!text.startsWith(COOKIE)) return 0;
  const most = limits.histogram_bytes;
  let bytes: Buffer;
  try {
    bytes = inflateSync(Buffer.from(text, 'base64').subarray(PREFIX), { maxOutputLength: most });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') return 0;
    throw new Error(`a histogram inflates to more than ${most} bytes`);
  }
  if (bytes.length < HEAD.length) return 0;
  const [digits, highest] = [bytes.readUInt32BE(HEAD.digits), bytes.readBigUInt64BE(HEAD.highest)];
  if (digits > limits.histogram_digits || highest > limits.histogram_highest_us)
    throw new Error(
      `a histogram of ${digits} digits up to ${highest}; up to ${limits.histogram_digits} digits and ${limits.histogram_highest_us} µs are read`,
    );
  return bytes.length;
}

/** @throws if it is not a histogram, or larger than any run's */
export function decodeHistogram(text: string): Histogram & Indexed {
  checkHistogram(text);
  return decodeFromCompressedBase64(text) as Histogram & Indexed;
}

/** @throws if a log inflates, or makes histograms, beyond what any run writes */
export function checkLog(text: string): void {
  let lines = 0;
  for (const _ of text.matchAll(/[\r\n]/g))
    if (++lines > limits.log_lines) throw new Error(`it has more than ${limits.log_lines} lines`);
  let inflated = 0;
  const most = text.length * limits.log_inflates_times + limits.histogram_bytes;
  // Wherever they stand: the library takes the fourth field of a line, whatever follows it.
  for (const [encoded] of text.matchAll(ENCODED)) {
    inflated += checkHistogram(encoded);
    if (inflated > most)
      throw new Error(`it inflates to more than ${limits.log_inflates_times} times its size`);
  }
}
