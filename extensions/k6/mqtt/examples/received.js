// How long did a message take, when its handler comes late because the VU is busy?
//   ./k6 run extensions/k6/mqtt/examples/received.js
import { check } from 'k6';
import { Trend } from 'k6/metrics';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';
const BUSY = 50; // ms

const arrival = new Trend('message_arrival', true); // until the socket had it
const handling = new Trend('message_handling', true); // until the handler ran, which is what Date.now() in it says

export const options = {
  thresholds: {
    checks: ['rate==1'],
    mqtt_messages_received: ['count==2'],
    message_handling: [`min>=${BUSY}`],
  },
};

export default function () {
  const handled = [];
  const client = new Client();
  client.on('message', (_topic, _payload, { received }) => {
    const now = Date.now(); // whole milliseconds; received has a fraction
    arrival.add(received - sent);
    handling.add(now - sent);
    handled.push(received);
    if (handled.length < 2) return;
    check(handled, {
      'was received after it was sent': ([first]) => first >= sent,
      'was received before the VU was free': ([first]) => first < free + 1,
      'messages are received in order': ([first, second]) => first <= second,
    });
    client.end();
  });
  client.connect(BROKER);
  client.subscribe('received/+');

  const sent = Date.now();
  client.publish('received/a', 'x', { qos: 1 });
  client.publish('received/b', 'x', { qos: 1 });
  // The VU is busy with calls that block it.
  for (let n = 0; n < 50 || Date.now() < sent + BUSY; n++) client.publish('other', 'x', { qos: 1 });
  const free = Date.now();
}
