/**
 * Code that the modules' types reject. `tsc -p scenarios` checks that each expected error occurs; nothing
 * runs this file.
 */
import { Run, type RunOptions } from 'k6/x/arrival';
import { Client } from 'k6/x/mqtt';
import { settings } from '../lib/declarations.js';

const options: RunOptions = { profile: '', ingest: { url: '' }, mqtt: { url: '', qos: 1 } };
const run = new Run(options);

// @ts-expect-error: unknown option
new Run({ ...options, inflight: 2 });
// @ts-expect-error: the profile is missing
new Run({ ingest: options.ingest });
// @ts-expect-error: next() returns null after the last request
run.next().flow;
// @ts-expect-error: the status is a number
run.settle({} as never, '202');
// @ts-expect-error: limits are a list of strings
run.thresholds({ arrival_p99: 250 });
// @ts-expect-error: p99 is null if nothing was measured
run.result().latency.arrival.p99 + 1;
// @ts-expect-error: QoS is 0, 1 or 2
new Client().subscribe('a', { qos: 3 });
// @ts-expect-error: unknown event
new Client().on('disconnect', () => {});
// @ts-expect-error: the payload is bytes, not a string
new Client().on('message', (_topic, payload) => payload.trim());
// @ts-expect-error: a setting of another script
settings('smoke').CONCURRENCY;
// @ts-expect-error: RATE is undefined by default
settings('ramp').RATE.toFixed();
// @ts-expect-error: k6 has no `process`
process.exit();
