// Which messages does a subscription bring, and from when until when?
//   ./k6 run extensions/k6/mqtt/examples/subscribe.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:subscribe}': ['count==5'], // one for each topic
    'mqtt_calls{method:subscribe,kind:many}': ['count==3'],
    'mqtt_calls{method:unsubscribe}': ['count==4'],
    'mqtt_calls{method:message}': ['count==5'],
    mqtt_messages_received: ['count==5'],
    mqtt_errors: ['count==0'],
  },
};

export default async function () {
  const got = [];
  const waiting = {}; // by the number of messages
  const messages = (n) => new Promise((resolve) => (waiting[n] = resolve));
  const client = new Client();
  client.on('message', (topic) => {
    got.push(topic.replace('subscribe/', ''));
    waiting[got.length]?.();
  });
  client.connect(BROKER);
  const publish = (...topics) => {
    for (const topic of topics) client.publish(`subscribe/${topic}`, 'x', { qos: 1 });
  };

  // Returns after SUBACK: what is published from now on arrives.
  client.subscribe('subscribe/one', { qos: 1 });
  client.subscribe(['subscribe/two', 'subscribe/three/+', 'subscribe/four/#'], {
    qos: 1,
    tags: { kind: 'many' },
  });
  await client.subscribeAsync('subscribe/five', { qos: 1 });
  const first = messages(4);
  publish('one', 'two', 'three/a', 'three/b/c', 'four/a/b', 'six'); // two of them are nobody's
  await first;

  // Returns after UNSUBACK: what is published from now on does not arrive.
  client.unsubscribe('subscribe/one');
  client.unsubscribe(['subscribe/two', 'subscribe/three/+']);
  await client.unsubscribeAsync('subscribe/four/#');
  const last = messages(5);
  publish('one', 'two', 'three/a', 'four/a', 'five');
  await last;
  client.end();
  check(got.join(' '), { 'these arrived': (topics) => topics === 'one two three/a four/a/b five' });
}
