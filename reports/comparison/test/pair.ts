/** Two comparable runs with histograms. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import hdr from 'hdr-histogram-js';
import { golden } from '../../test/goldens.ts';

/** Writes the runs a and b into a directory. Of 10,000 deliveries 1 and 50 break the limit; the p99 of b is a fifth above that of a. */
export async function writePair(directory: string): Promise<void> {
  const run = golden('passing');
  for (const [name, late] of [
    ['a', 1],
    ['b', 50],
  ] as const) {
    const arrivals = hdr.build();
    arrivals.recordValueWithCount(4_000, 10_000 - late);
    arrivals.recordValueWithCount(300_000, late); // the limit is 250 ms
    run.latency.arrival.histogram = hdr.encodeIntoCompressedBase64(arrivals);
    run.run.id = `pair${name}`;
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'run.json'), JSON.stringify(run));
    const longer = name === 'b' ? 1.2 : 1;
    const log = histogramLog(run.timeline.map(({ arrival }) => (arrival?.p99 ?? 0) * longer));
    await writeFile(join(directory, name, 'arrival.hlog'), log);
    run.latency.arrival.p99 = (run.latency.arrival.p99 ?? 0) * 1.2;
  }
}

/** A histogram log with one sample (ms) a second; null omits the second. */
export function histogramLog(seconds: (number | null | undefined)[]): string {
  let text = '';
  const writer = new hdr.HistogramLogWriter((more) => {
    text += more;
  });
  writer.outputLogFormatVersion();
  writer.outputStartTime(1_000_000);
  text += '#[BaseTime: 1000 (seconds since epoch)]\n';
  writer.outputLegend();
  seconds.forEach((ms, t) => {
    if (ms == null) return;
    const histogram = hdr.build();
    histogram.recordValue(Math.round(ms * 1000));
    histogram.tag = 'arrival';
    writer.outputIntervalHistogram(histogram, t, t + 1);
  });
  return text;
}
