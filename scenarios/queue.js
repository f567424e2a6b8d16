// How fast are queue, relay and broker by themselves? The script writes messages into Redis as the ingest does.
//   npm run scenario -- scenarios/queue.js                         1,000/s for 20 s
//   npm run scenario -- scenarios/queue.js -e RATE=3000 -e DURATION=60 -e SENDERS=64
//   QUEUE=list npm run scenario -- scenarios/queue.js              the same with a list
// The stages `request` and `ingest` are 0; *Redis* is the time of the write.

import { Run } from 'k6/x/arrival';
import redis from 'k6/x/redis';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { checkTrust, queue } from './lib/stages.js';
import { rate as perSecond } from './lib/words.js';

checkTrust('k6/x/redis');
const { redis: url, kind, prefix } = queue();

const { RATE, DURATION, SENDERS } = settings('queue');
const run = new Run({
  name: 'queue',
  protocol: 'Redis',
  ...setting('queue'),
  profile: profileOf(`${perSecond(RATE, 'requests')} into the queue`, {
    phases: [{ name: 'steady', duration: DURATION, arrivalRate: RATE }],
    flows: flows.direct,
  }),
  senders: SENDERS,
  canary: false, // it uses the ingest
});

export const options = { scenarios: run.scenarios(), thresholds: run.thresholds() };

const client = new redis.Client(url);

// It counts messages, as pipeline/queue/stream.ts does: an entry holds several.
const APPEND = "redis.call('XADD', KEYS[1], '*', 'frame', ARGV[1]) return redis.call('INCRBY', KEYS[2], 1)";

/** @param {string} frame */
function append(frame) {
  if (kind === 'list') return client.sendCommand('LPUSH', `${prefix}:list`, frame);
  return client.sendCommand('EVAL', APPEND, 2, `${prefix}:messages`, `${prefix}:depth`, frame);
}

export function subscriber() {
  run.collect();
}

export async function sender() {
  const slot = run.next();
  if (slot === null) return;
  // pipeline/queue/frame.ts: target, stamps (received, and queued since then) and perhaps a trace, body
  const trace = slot.traceparent && ` ${slot.traceparent}`;
  const frame = `${slot.targets[0]}\n${slot.stamp},0${trace}\n${slot.body}`;
  let status = 0;
  try {
    await append(frame);
    status = 202;
  } finally {
    run.settle(slot, status);
  }
}

export const handleSummary = run.summary;
