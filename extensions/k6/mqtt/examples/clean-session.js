// Does the broker keep messages for a client that is away, when its session is not a clean one?
//   ./k6 run extensions/k6/mqtt/examples/clean-session.js
import { check } from 'k6';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_messages_received{client_id:keeper}': ['count==3'],
    mqtt_errors: ['count==0'],
  },
};

const text = (payload) => String.fromCharCode(...new Uint8Array(payload));

export default function () {
  const keeper = new Client({ client_id: 'keeper' }); // the broker finds the session by it
  keeper.connect(BROKER, { clean_session: false });
  keeper.subscribe('session/kept', { qos: 1 });
  keeper.end();

  const sender = new Client();
  sender.connect(BROKER);
  for (const n of [0, 1, 2]) sender.publish('session/kept', String(n), { qos: 1 });
  sender.end();

  const kept = [];
  keeper.on('message', (_, payload) => {
    kept.push(text(payload));
    if (kept.length < 3) return;
    check(kept.sort().join(), { 'each was kept': (k) => k === '0,1,2' });
    keeper.end();
    keeper.connect(BROKER, { clean_session: true }); // which makes the broker forget the session
    keeper.end();
  });
  keeper.connect(BROKER, { clean_session: false }); // the subscription is still there
}
