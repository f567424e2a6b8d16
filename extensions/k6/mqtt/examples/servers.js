// Does a client find the broker that is up, when the first ones of its list are down?
//   ./k6 run extensions/k6/mqtt/examples/servers.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';
const DOWN = 'mqtt://127.0.0.1:1'; // nothing listens there

export const options = {
  thresholds: {
    checks: ['rate==1'],
    [`mqtt_calls{method:connect,url:${BROKER}}`]: ['count==2'], // the url tag is the server that took it
    'mqtt_calls{method:connect}': ['count==3'],
    mqtt_errors: ['count==1'],
  },
};

export default function () {
  const client = new Client();
  client.connect(DOWN, { servers: [DOWN, BROKER], connect_timeout: 1000 }); // each server has the second
  check(client, { 'the third server took it': (c) => c.connected });
  client.end();

  client.connect({ servers: [DOWN, BROKER] });
  check(client, { 'without a url too': (c) => c.connected });
  client.end();

  let error;
  try {
    client.connect({ servers: [DOWN, DOWN] });
  } catch (e) {
    error = e;
  }
  check(error, {
    'the error names them all': (e) => e.message.startsWith('none of 2 servers took the connection'),
  });
}
