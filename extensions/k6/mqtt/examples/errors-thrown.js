// Without an error handler: the calls that fail throw, and the async forms reject.
//   ./k6 run extensions/k6/mqtt/examples/errors-thrown.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';
const DOWN = 'mqtt://127.0.0.1:1'; // nothing listens there

export const options = {
  thresholds: {
    checks: ['rate==1'],
    mqtt_errors: ['count==6'],
  },
};

export default async function () {
  const client = new Client();
  const fails = async (name, method, call) => {
    let error;
    try {
      await call(); // awaiting makes one of what throws and what rejects
    } catch (e) {
      error = e;
    }
    check(error, { [name]: (e) => e?.name === 'MQTTError' && e.method === method });
  };

  await fails('publish throws while not connected', 'publish', () => client.publish('errors-thrown', 'x'));
  await fails('publishAsync rejects', 'publish', () => client.publishAsync('errors-thrown', 'x'));
  await fails('connect throws', 'connect', () => client.connect(DOWN));
  await fails('reconnect throws', 'reconnect', () => client.reconnect());

  client.connect(BROKER);
  await fails('subscribe throws', 'subscribe', () => client.subscribe('errors-thrown/#/x'));
  await fails('subscribeAsync rejects', 'subscribe', () => client.subscribeAsync('errors-thrown/#/x'));
  client.end();
}
