// Which events does a client have, and what may their handlers do?
//   ./k6 run extensions/k6/mqtt/examples/events.js
import { check } from 'k6';
import { clearInterval, setInterval, setTimeout } from 'k6/timers';
import mqtt from 'k6/x/mqtt'; // the default export has the same Client

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    mqtt_messages_received: ['count==3'],
    mqtt_errors: ['count==0'],
  },
};

const text = (payload) => String.fromCharCode(...new Uint8Array(payload));
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export default function () {
  check(mqtt, { 'mqtt.Client is a function': (m) => typeof m.Client === 'function' });
  const happened = [];
  const client = new mqtt.Client();

  client.on('connect', () => happened.push('replaced')); // each event has one handler, with a warning
  client.on('connect', () => {
    happened.push('connect');
    client.subscribe('events/tick');
    let n = 0;
    const ticking = setInterval(() => {
      client.publish('events/tick', String(n), { qos: 1 });
      if (++n === 3) clearInterval(ticking);
    }, 1);
  });

  client.on('message', async (topic, payload) => {
    await pause(1); // handlers may be async
    happened.push(`${topic} ${text(payload)}`);
    if (text(payload) === '2') client.end();
  });

  client.on('end', () => {
    happened.push('end');
    check(happened.join(), {
      'events came in order': (h) => h === 'connect,events/tick 0,events/tick 1,events/tick 2,end',
    });
  });

  // @ts-expect-error: there is no such event: a warning
  client.on('disconnect', () => happened.push('never'));
  client.connect(BROKER);
}
