/** Code that the modules' types refuse. `tsc -p scenarios` checks that each expected error is there; nothing runs this file. */
import { Run, type RunOptions } from 'k6/x/arrival';
import { Client } from 'k6/x/mqtt';
import { settings } from '../lib/declarations.js';

const options: RunOptions = { profile: '', ingest: { url: '' }, mqtt: { url: '', qos: 1 } };
const run = new Run(options);

// @ts-expect-error: a name that is not known
new Run({ ...options, inflight: 2 });
// @ts-expect-error: no profile
new Run({ ingest: options.ingest });
// @ts-expect-error: it may be null, after the last request
run.next().flow;
// @ts-expect-error: a status is a number
run.settle({} as never, '202');
// @ts-expect-error: a list of texts
run.thresholds({ arrival_p99: 250 });
// @ts-expect-error: null where nothing was measured
run.result().latency.arrival.p99 + 1;
// @ts-expect-error: 0, 1 or 2
new Client().subscribe('a', { qos: 3 });
// @ts-expect-error: not an event
new Client().on('disconnect', () => {});
// @ts-expect-error: bytes, not a text
new Client().on('message', (_topic, payload) => payload.trim());
// @ts-expect-error: a setting of another script
settings('smoke').CONCURRENCY;
// @ts-expect-error: undefined unless it is set
settings('ramp').RATE.toFixed();
// @ts-expect-error: k6 is not Node
process.exit();
