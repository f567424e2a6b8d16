// Do messages of each kind and quality of service arrive as they were sent?
//   ./k6 run extensions/k6/mqtt/examples/publish.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:publish}': ['count==8'],
    'mqtt_calls{method:publish,kind:tagged}': ['count==1'],
    mqtt_messages_sent: ['count==8'],
    mqtt_messages_received: ['count==7'], // deleting what is retained arrives nowhere
    data_sent: ['count==22'], // bytes of the payloads
    data_received: ['count==22'],
    mqtt_errors: ['count==0'],
  },
};

const text = (payload) => String.fromCharCode(...new Uint8Array(payload));

export default async function () {
  const got = [];
  const client = new Client();
  const all = new Promise((done) => {
    client.on('message', (topic, payload) => {
      got.push(`${topic.replace('publish/', '')}=${text(payload)}`);
      if (got.length === 7) done(got);
    });
  });
  client.connect(BROKER);
  client.subscribe('publish/live/+', { qos: 2 });

  // Returns when the message is written (QoS 0), acknowledged (1) or complete (2).
  client.publish('publish/live/qos0', 'abc'); // the default
  client.publish('publish/live/qos1', 'abc', { qos: 1 });
  client.publish('publish/live/qos2', 'abc', { qos: 2 });
  client.publish('publish/live/string', 'abcd', { tags: { kind: 'tagged' } });
  client.publish('publish/live/bytes', new Uint8Array([65, 66, 67]).buffer);
  await client.publishAsync('publish/live/async', 'abc', { qos: 1 });

  // A retained message is there for those who subscribe later.
  client.publish('publish/retained', 'abc', { retain: true, qos: 1 });
  client.subscribe('publish/retained', { qos: 1 });
  await all;
  client.unsubscribe('publish/retained');
  client.publish('publish/retained', '', { retain: true, qos: 1 });
  client.end();

  check(got.join(' '), {
    'all arrived, in order': (g) =>
      g ===
      'live/qos0=abc live/qos1=abc live/qos2=abc live/string=abcd live/bytes=ABC live/async=abc retained=abc',
  });
}
