// The baseline of the subscriber: a message handler in JavaScript.
import { Trend } from 'k6/metrics';
import { Client } from 'k6/x/mqtt';

const latency = new Trend('latency', true);

export const options = {
  scenarios: {
    subscriber: {
      executor: 'per-vu-iterations',
      vus: 1,
      iterations: 1,
      maxDuration: '1h',
      gracefulStop: '0s',
    },
  },
};

export default function () {
  const client = new Client({ client_id: 'handler' });
  client.on('message', (_topic, payload) => {
    const message = JSON.parse(String.fromCharCode.apply(null, new Uint8Array(payload)));
    latency.add(Date.now() - message.at);
  });
  client.connect(__ENV.MQTT_URL);
  client.subscribe('messages/user/+');
}
