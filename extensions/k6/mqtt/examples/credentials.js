// How does a client log in: with options, in the address, or with credentials that are asked for at connect time?
//   ./k6 run -e MQTT_URL=… -e MQTT_USERNAME=… -e MQTT_PASSWORD=… extensions/k6/mqtt/examples/credentials.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';
const username = __ENV.MQTT_USERNAME;
const password = __ENV.MQTT_PASSWORD;

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:connect}': ['count==4'],
    'mqtt_calls{client_id:sensor-7}': ['count==2'], // connect and end
    'mqtt_errors{method:connect}': ['count==1'],
  },
};

function logsIn(name, client, url) {
  client.connect(url);
  check(client, { [`${name} log in`]: (c) => c.connected });
  client.end();
}

export default function () {
  logsIn('options', new Client({ client_id: 'sensor-7', username, password }), BROKER);
  logsIn('the address', new Client(), BROKER.replace('://', `://${username}:${password}@`));

  // Asked for at each connect and reconnect: for tokens that expire.
  let asked = 0;
  const credentials_provider = () => {
    asked++;
    return { username, password };
  };
  logsIn("the provider's credentials", new Client({ credentials_provider }), BROKER);
  check(asked, { 'the provider was asked once': (n) => n === 1 });

  let refused;
  try {
    new Client({ username, password: 'wrong' }).connect(BROKER);
  } catch (error) {
    refused = error;
  }
  check(refused, {
    'a wrong password is an MQTTError': (e) => e.name === 'MQTTError' && e.method === 'connect',
    'which says what to change': (e) => e.message.includes('set username and password'),
  });
}
