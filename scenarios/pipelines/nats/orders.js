// How long do orders take through net/http and NATS, up to a subscriber? The script is the subscriber, over NATS' WebSocket.
//   INGEST_URL=http://127.0.0.1:8000 NATS_URL=ws://127.0.0.1:4280 npm run scenario -- scenarios/pipelines/nats/orders.js

import { WebSocket } from 'k6/websockets';
import { Run } from 'k6/x/arrival';

const run = new Run({
  name: 'orders',
  profile: JSON.stringify({
    phases: [{ name: 'steady', duration: __ENV.DURATION || 10, arrivalRate: __ENV.RATE || 100 }],
    flows: [{ name: 'order' }],
  }),
  ingest: { url: __ENV.INGEST_URL, path: '/orders' },
  arrived: {}, // by run.arrived()
  canary: false,
  greet: true,
  dir: __ENV.RUN_DIR || '',
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({ arrival_p99: [`value<${__ENV.P99 || 250}`] }),
};

export function consumer() {
  const socket = new WebSocket(__ENV.NATS_URL);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => socket.send('CONNECT {"verbose":false}\r\nSUB orders 1\r\nPING\r\n');
  socket.onerror = ({ error }) => {
    throw new Error(`NATS_URL is ${__ENV.NATS_URL}: ${error}`);
  };
  let unread = '';
  // docs.nats.io/reference/reference-protocols/nats-protocol: lines, and a payload behind that of MSG.
  socket.onmessage = ({ data, timestamp }) => {
    unread += String.fromCharCode(...new Uint8Array(data));
    for (let end = unread.indexOf('\r\n'); end >= 0; end = unread.indexOf('\r\n')) {
      const [word, ...fields] = unread.slice(0, end).split(' ');
      const behind = word === 'MSG' ? Number(fields.at(-1)) + 2 : 0;
      if (unread.length < end + 2 + behind) return; // the rest is in the next frame
      if (word === 'MSG') run.arrived(unread.slice(end + 2, end + behind), { at: timestamp });
      if (word === 'PING') socket.send('PONG\r\n');
      if (word === 'PONG') run.subscribed().then(() => socket.close());
      if (word === '-ERR') throw new Error(`NATS: ${fields.join(' ')}`);
      unread = unread.slice(end + 2 + behind);
    }
  };
}

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
