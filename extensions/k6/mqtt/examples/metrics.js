// What do the metrics count, and which tags tell them apart?
//   ./k6 run extensions/k6/mqtt/examples/metrics.js
import { check } from 'k6';
import exec from 'k6/execution';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    // connect, end, each topic of a (un)subscribe, each publish, each message delivered
    mqtt_calls: ['count==11'],
    'mqtt_calls{method:connect}': ['count==1'],
    'mqtt_calls{method:subscribe}': ['count==2'],
    'mqtt_calls{method:publish}': ['count==3'],
    'mqtt_calls{method:message}': ['count==2'],
    'mqtt_calls{method:unsubscribe}': ['count==2'],
    'mqtt_calls{method:end}': ['count==1'],
    mqtt_messages_sent: ['count==2'], // without the one that failed
    mqtt_messages_received: ['count==2'],
    mqtt_errors: ['count==1'],
    data_sent: ['count==7'], // bytes of the payloads
    data_received: ['count==7'],

    'mqtt_calls{proto:MQTT/3.1.1}': ['count==11'],
    'mqtt_calls{client_id:counted}': ['count==11'],
    [`mqtt_calls{url:${BROKER}}`]: ['count==11'],
    'mqtt_calls{fleet:7}': ['count==11'], // of the client
    'mqtt_calls{site:here}': ['count==11'], // of the connection
    'mqtt_messages_sent{step:first}': ['count==1'], // of the call
    'mqtt_messages_sent{phase:late}': ['count==1'], // of the VU
    'mqtt_messages_received{topic:metrics/b}': ['count==1'], // because of tag_topic
  },
};

export default function () {
  let messages = 0;
  // A tag for the topic only when asked for: topics with ids in them would become very many time series.
  const client = new Client({ client_id: 'counted', tags: { fleet: 7 }, tag_topic: true });
  client.on('message', () => {
    if (++messages < 2) return;
    client.unsubscribe(['metrics/a', 'metrics/b']);
    client.end();
  });
  client.connect(BROKER, { tags: { site: 'here' } });
  client.subscribe(['metrics/a', 'metrics/b']);
  client.publish('metrics/a', '12345', { tags: { step: 'first' } });
  try {
    client.publish('metrics/+', 'a wildcard');
  } catch (error) {
    check(error, { 'a topic to publish to has no wildcards': (e) => e.name === 'MQTTError' });
  }
  exec.vu.metrics.tags.phase = 'late';
  client.publish('metrics/b', '67', { qos: 1 });
  delete exec.vu.metrics.tags.phase;
}
