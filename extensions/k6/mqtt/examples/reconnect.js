// How does a script notice that its connection was lost, and go on?
//   ./k6 run extensions/k6/mqtt/examples/reconnect.js
import { check } from 'k6';
import { setTimeout } from 'k6/timers';
import { Client } from 'k6/x/mqtt';

const BROKER = __ENV.MQTT_URL || 'mqtt://127.0.0.1:1883';

export const options = {
  thresholds: {
    checks: ['rate==1'],
    'mqtt_calls{method:reconnect}': ['count==1'],
    'mqtt_calls{method:reconnect,site:here}': ['count==1'], // with the parameters of connect()
    'mqtt_messages_received{client_id:lost}': ['count==1'],
    'mqtt_errors{method:connect}': ['count==1'],
    mqtt_errors: ['count==1'],
  },
};

export default function () {
  const events = [];
  const client = new Client({ client_id: 'lost' });
  client.on('connect', () => {
    events.push('connect');
    client.subscribe('reconnect/again'); // a clean session has forgotten it
    if (events.includes('reconnect')) client.publish('reconnect/again', 'back');
  });
  client.on('reconnect', () => events.push('reconnect'));
  client.on('error', (e) => {
    events.push('error');
    check(e, { 'the error says what to do': ({ message }) => message.includes('call reconnect() to go on') });
    check(client.connected, { 'the connection is down': (up) => !up });
    setTimeout(() => client.reconnect(), 10); // after a pause: a broker that restarts needs one
  });
  client.on('end', () => events.push('end'));
  client.on('message', () => {
    client.end();
    check(events.join(), { 'events come in order': (e) => e === 'connect,error,end,reconnect,connect,end' });
  });
  client.connect(BROKER, { tags: { site: 'here' } });

  // Once the client has had its connect event, another one takes over its client_id: the broker breaks off the first.
  setTimeout(() => {
    const usurper = new Client({ client_id: 'lost' });
    usurper.connect(BROKER);
    usurper.end();
  }, 10);
}
