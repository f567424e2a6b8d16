// Can a client prove to the broker who it is, and check who the broker is?
//   SSL_CERT_FILE=ca.pem ./k6 run -e MQTT_URL=mqtts://… -e CERTIFICATE=client.pem -e KEY=client.key \
//     extensions/k6/mqtt/examples/tls.js
// SSL_CERT_FILE names the authorities to trust instead of the system's; the files are absolute paths.
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

export const options = {
  tlsAuth: [{ cert: open(__ENV.CERTIFICATE), key: open(__ENV.KEY) }],
  tlsVersion: { min: 'tls1.2', max: 'tls1.3' },
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:connect}': ['count==1'],
    mqtt_errors: ['count==0'],
  },
};

export default function () {
  const client = new Client();
  client.connect(__ENV.MQTT_URL);
  check(client, { 'the broker and the client know each other': (c) => c.connected });
  client.end();
}
