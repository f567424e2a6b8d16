// How does a client connect, and how long does the iteration last?
//   ./k6 run extensions/k6/mqtt/examples/connect.js
import { check } from 'k6';
import { setTimeout } from 'k6/timers';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:connect}': ['count==2'],
    'mqtt_calls{method:connect,shift:night}': ['count==1'],
    'mqtt_calls{method:end}': ['count==2'],
    mqtt_errors: ['count==0'],
  },
};

export default function () {
  const client = new Client();
  check(client, { 'is not connected yet': (c) => !c.connected });

  // By address, with options. It returns when the broker has accepted.
  client.connect(BROKER, {
    keepalive: 30,
    connect_timeout: 5000,
    clean_session: true,
    tags: { shift: 'night' },
  });
  check(client, { 'is connected': (c) => c.connected });
  client.end();
  check(client, { 'has ended': (c) => !c.connected });

  // By options alone.
  client.connect({ servers: [BROKER] });

  // A wrong type is a mistake in the script, so it throws, whether or not there is an error handler.
  let thrown;
  try {
    // @ts-expect-error: the types say so too
    client.connect(1883);
  } catch (error) {
    thrown = error;
  }
  check(thrown, {
    'a wrong type throws': (e) => e instanceof TypeError && e.message.includes('client.connect: url must be'),
  });

  // The client keeps the iteration going after this function has returned, until it ends.
  let returned = false;
  setTimeout(() => {
    check(returned, { 'the iteration lasts as long as the client': (r) => r });
    client.end();
  }, 10);
  returned = true;
}
