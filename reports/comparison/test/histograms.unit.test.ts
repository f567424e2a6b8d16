import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import limits from '../../contract/limits.json' with { type: 'json' };
import { golden } from '../../test/goldens.ts';
import { checkLog, decodeHistogram } from '../histograms.ts';
import { parseHistograms } from '../seconds.ts';

/** A histogram as a log holds it, with a body of so many zero bytes. */
function encoded(digits: number, highest: bigint, body: number): string {
  const head = Buffer.alloc(40);
  head.writeUInt32BE(digits, 12);
  head.writeBigUInt64BE(highest, 24);
  const deflated = deflateSync(Buffer.concat([head, Buffer.alloc(body)]));
  return Buffer.concat([Buffer.from('1c84930400000000', 'hex'), deflated]).toString('base64');
}

test('the histograms of a run are decoded', () => {
  const { histogram, count } = golden('real').latency.arrival;
  assert.equal(decodeHistogram(histogram as string).totalCount, count);
});

// Regression: 3.9 MB of a log inflated to 5.9 GB.
test('a histogram that no run writes is refused before it is decoded', () => {
  const most = limits.histogram_bytes;
  assert.throws(() => decodeHistogram(encoded(3, 1000n, most)), /inflates to more than/);
  assert.throws(() => decodeHistogram(encoded(5, 1000n, 10)), /5 digits/);
  assert.throws(() => decodeHistogram(encoded(3, 2n ** 62n, 10)), /up to 4611686018427387904/);
});

test('a log has a bound of its own', () => {
  const line = `Tag=arrival,0.0,1.0,1.0,${encoded(3, 1000n, limits.histogram_bytes / 2)}\n`;
  checkLog(line);
  assert.throws(() => parseHistograms(line.repeat(10)), /inflates to more than 64 times/);
  assert.throws(() => parseHistograms(`0,1,1,${encoded(3, 1000n, limits.histogram_bytes)},0\n`), /inflates/);
  assert.throws(() => parseHistograms('\n'.repeat(limits.log_lines + 1)), /more than 1000000 lines/);
});
