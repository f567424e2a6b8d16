// How do MQTT 5 user properties get on a message, and off it?
//   ./k6 run extensions/k6/mqtt/examples/user-properties.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_messages_received{proto:MQTT/5.0}': ['count==2'],
    mqtt_errors: ['count==0'],
  },
};

export default function () {
  const client = new Client({ protocol_version: 5 }); // all else stays as it is
  client.on('message', (topic, payload, { properties }) => {
    const { trace, hop } = properties?.user ?? {};
    if (topic === 'user-properties/request') {
      check(trace, { 'a value is a string': (value) => value === '4bf92f35' });
      check(hop, {
        'several are an array': (value) => Array.isArray(value) && value.join() === 'ingest,relay',
      });
      client.publish('user-properties/answer', payload, { properties }); // on to the next, as it came
      return;
    }
    check(hop, { 'they were passed on': () => trace === '4bf92f35' && hop?.length === 2 });
    client.end();
  });
  client.connect(BROKER);
  client.subscribe('user-properties/+');
  client.publishAsync('user-properties/request', 'x', {
    properties: { user: { trace: '4bf92f35', hop: ['ingest', 'relay'] } },
  });
}
