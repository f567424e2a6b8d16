// Is k6/x/arrival in this k6? It needs no pipeline.
//   ./k6 run extensions/k6/examples/smoke.js
import { check } from 'k6';
import { Run } from 'k6/x/arrival';

export const options = { thresholds: { checks: ['rate==1'] } };

// A Run of the init context has to run: k6 would not exit with 0.
export default function () {
  const run = new Run({
    profile: 'phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct}]',
    ingest: { url: 'http://127.0.0.1:1' },
    mqtt: { url: 'mqtt://127.0.0.1:1' },
  });
  check(run, {
    'it has an id': ({ id }) => /^\w{4,}$/.test(id),
    'its scenarios are a subscriber and senders': () =>
      Object.keys(run.scenarios()).sort().join() === 'sender,subscriber',
    'lost messages fail it': () => 'arrival_lost' in run.thresholds(),
  });
}
