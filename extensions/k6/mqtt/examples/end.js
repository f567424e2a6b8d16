// What has happened when end() returns, and when endAsync() resolves?
//   ./k6 run extensions/k6/mqtt/examples/end.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:end}': ['count==3'], // ending what never connected is not a call
    'mqtt_calls{method:end,step:last}': ['count==1'],
    mqtt_messages_sent: ['count==10'],
    mqtt_messages_received: ['count==10'],
    mqtt_errors: ['count==0'],
  },
};

export default async function () {
  let ends = 0;
  let messages = 0;
  let ended;
  const client = new Client();
  client.on('end', () => {
    ends++;
    ended?.();
  });

  client.end();
  check(client, { 'ending without having connected is harmless': (c) => !c.connected });

  ends = 0;
  client.connect(BROKER);
  client.end();
  check(ends, { 'the end event has fired when end() returns': (n) => n === 1 });
  client.end();
  check(ends, { 'and not again': (n) => n === 1 });

  client.connect(BROKER);
  const ending = client.endAsync();
  check(client.connected, { 'endAsync() takes no more calls': (connected) => !connected });
  await ending;
  check(ends, { 'the end event has fired when endAsync() resolves': (n) => n === 2 });

  // From the message handler too: messages that came with this one are handed over, then the end event fires.
  client.connect(BROKER);
  client.subscribe('end/last', { qos: 1 });
  const last = new Promise((resolve) => (ended = resolve));
  client.on('message', () => {
    messages++;
    if (messages === 10) client.end({ tags: { step: 'last' } });
  });
  for (let i = 0; i < 10; i++) client.publishAsync('end/last', String(i), { qos: 1 });
  await last;
  check(messages, { 'every message was handed over': (n) => n === 10 });
}
