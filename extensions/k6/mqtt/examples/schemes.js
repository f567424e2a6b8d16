// Does each kind of address work: TCP, TLS, WebSocket, and WebSocket over TLS?
//   ./k6 run -e MQTT_URLS=mqtt://…,wss://… extensions/k6/mqtt/examples/schemes.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

// mqtt:// tcp:// (none means these), mqtts:// ssl:// tls://, ws://, wss://
const URLS = (__ENV.MQTT_URLS || '127.0.0.1:1883,mqtt://127.0.0.1:1883,tcp://127.0.0.1').split(',');

export const options = {
  insecureSkipTLSVerify: true, // of k6: for test certificates. tls.js shows how to check them
  iterations: URLS.length,
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:connect}': [`count==${URLS.length}`],
    mqtt_messages_received: [`count==${URLS.length}`],
    mqtt_errors: ['count==0'],
  },
};

export default function () {
  const url = URLS[__ITER];
  const topic = `schemes/${__ITER}`;
  const client = new Client();
  client.on('message', (_, payload) => {
    check(payload.byteLength, { [`${url} carries a long message`]: (n) => n === 100_000 });
    client.end();
  });
  client.connect(url, { connect_timeout: 5000 });
  client.subscribe(topic);
  client.publish(topic, 'x'.repeat(100_000), { qos: 1 });
}
