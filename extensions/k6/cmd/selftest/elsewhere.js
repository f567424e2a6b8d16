// Reads what a run left with HdrHistogram for JavaScript: the directory of the run is the last argument. Prints JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as hdr from 'hdr-histogram-js';

const directory = process.argv.at(-1);
const reader = new hdr.HistogramLogReader(readFileSync(join(directory, 'arrival.hlog'), 'utf8'));
const log = [];
for (let one = reader.nextIntervalHistogram(); one !== null; one = reader.nextIntervalHistogram()) {
  log.push({
    tag: one.tag,
    from: one.startTimeStampMsec,
    to: one.endTimeStampMsec,
    count: one.totalCount,
    max: one.maxValue,
  });
}
const run = JSON.parse(readFileSync(join(directory, 'run.json'), 'utf8'));
const arrival = hdr.decodeFromCompressedBase64(run.latency.arrival.histogram);
const percentiles = [50, 75, 90, 95, 99, 99.9].map((p) => arrival.getValueAtPercentile(p));
console.log(JSON.stringify({ log, count: arrival.totalCount, percentiles }));
