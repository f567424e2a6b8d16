// How long do messages take through net/http and a Redis stream, up to the consumer? The script is the consumer.
//   INGEST_URL=http://127.0.0.1:8000 REDIS_URL=redis://127.0.0.1:6379 ./k6 run scenarios/pipelines/go/stream.js
import { Run } from 'k6/x/arrival';
import redis from 'k6/x/redis';

const run = new Run({
  name: 'stream',
  profile: JSON.stringify({
    phases: [{ name: 'steady', duration: __ENV.DURATION || 10, arrivalRate: __ENV.RATE || 100 }],
    flows: [{ name: 'event' }],
  }),
  ingest: { url: __ENV.INGEST_URL, path: '/events' },
  arrived: {}, // by run.arrived()
  canary: false,
  greet: true,
  dir: __ENV.RUN_DIR || '',
});
const client = new redis.Client(__ENV.REDIS_URL);

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({ arrival_p99: [`value<${__ENV.P99 || 250}`] }),
};

export async function consumer() {
  const [newest] = await client.sendCommand('XREVRANGE', 'events', '+', '-', 'COUNT', 1);
  let last = newest ? newest[0] : '0';
  run.subscribed();
  while (run.receiving()) {
    const read = client.sendCommand('XREAD', 'COUNT', 100, 'BLOCK', 200, 'STREAMS', 'events', last);
    const streams = await read.catch(() => []); // null after 200 ms without an entry
    for (const [, entries] of streams) {
      run.arrived(entries.map(([, [, event]]) => event));
      last = entries.at(-1)[0];
    }
  }
}

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
