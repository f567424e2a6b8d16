// Does the broker publish a client's will when its connection breaks, and only then?
//   ./k6 run extensions/k6/mqtt/examples/will.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    mqtt_messages_received: ['count==2'], // the will, and once more because it is retained
    'mqtt_errors{client_id:broken}': ['count==1'], // its connection was lost
    'mqtt_errors{client_id:orderly}': ['count==0'],
  },
};

const text = (payload) => String.fromCharCode(...new Uint8Array(payload));

function sensor(id) {
  const client = new Client({
    client_id: id,
    will: { topic: `wills/status/${id}`, payload: 'gone', qos: 1, retain: true },
  });
  client.on('error', () => {}); // the loss is what this script is about
  client.connect(BROKER);
  return client;
}

export default function () {
  const watcher = new Client();
  watcher.on('message', (topic, payload) => {
    check(text(payload), { 'the will arrives': (t) => t === 'gone' });
    check(topic, { 'of the broken connection alone': (t) => t === 'wills/status/broken' });
    watcher.end();
    retained();
  });
  watcher.connect(BROKER);
  watcher.subscribe('wills/status/+', { qos: 1 });

  sensor('orderly').end();

  // A second client with the same client_id: the broker breaks off the first one's connection.
  sensor('broken');
  const usurper = new Client({ client_id: 'broken' });
  usurper.connect(BROKER);
  usurper.end();
}

// Who comes later gets the will too, since it is retained.
function retained() {
  const late = new Client();
  late.on('message', (topic, payload) => {
    check(text(payload), { 'the will was retained': (t) => t === 'gone' });
    late.unsubscribe(topic);
    late.publish(topic, '', { retain: true, qos: 1 }); // an empty one deletes it
    late.end();
  });
  late.connect(BROKER);
  late.subscribe('wills/status/broken');
}
