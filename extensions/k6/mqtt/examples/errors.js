// With an error handler: what does it get, and what do the calls do that fail?
//   ./k6 run extensions/k6/mqtt/examples/errors.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';
const DOWN = 'mqtt://127.0.0.1:1'; // nothing listens there

export const options = {
  thresholds: {
    checks: ['rate==1'],
    mqtt_errors: ['count==6'],
    'mqtt_errors{method:connect}': ['count==1'],
    'mqtt_errors{method:subscribe}': ['count==2'],
    'mqtt_errors{method:unsubscribe}': ['count==1'],
    'mqtt_errors{method:publish}': ['count==2'],
    'mqtt_calls{method:connect}': ['count==2'], // a call that fails counts too
    mqtt_messages_sent: ['count==0'],
  },
};

export default async function () {
  const errors = [];
  const client = new Client();
  client.on('error', (error) => {
    check(error, {
      'it is an MQTTError': (e) => e instanceof Error && e.name === 'MQTTError' && e.message !== '',
    });
    errors.push(error.method);
  });

  // The handler gets the error, and the call returns as if it were done.
  client.publish('errors/topic', 'not connected');
  client.connect(DOWN);
  check(client, { 'not connected': (c) => !c.connected });

  client.connect(BROKER);
  client.subscribe('errors/#/wrong');
  client.unsubscribe('');
  // The async forms resolve.
  await client.publishAsync('errors/+', 'a wildcard');
  await client.subscribeAsync('errors/#wrong');
  client.end();

  check(errors.join(), {
    'each says which call': (e) => e === 'publish,connect,subscribe,unsubscribe,publish,subscribe',
  });
}
