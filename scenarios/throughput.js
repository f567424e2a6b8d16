// How many messages a second do clients exchange through the broker, in all and each, as their number grows?
//   npm run scenario -- scenarios/throughput.js         one client more each second, to 100, at QOS 0
//   … -e CLIENTS=20 -e STEP=2 -e QOS=1
// A client publishes a ping, and the next one after its pong. The account has the pings; *MQTT* is the time from ping
// to pong. Clients and echo are JavaScript and share the generator's cores. A run that uses all of them is invalid.
import { sleep } from 'k6';
import exec from 'k6/execution';
import { clearInterval, setInterval } from 'k6/timers';
import { Run } from 'k6/x/arrival';
import { Client } from 'k6/x/mqtt';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { checkBrokerFiles, checkTrust, stages } from './lib/stages.js';

checkTrust('k6/x/mqtt');

const { CLIENTS: clients, STEP: step, QOS: qos } = settings('throughput');
checkBrokerFiles(2 * clients + 2, 1, 'or fewer CLIENTS');
const reached = setting('throughput');
const run = new Run({
  name: 'throughput',
  protocol: 'MQTT',
  ...reached,
  profile: profileOf(`1 to ${clients} clients`, {
    phases: Array.from({ length: clients }, (_, i) => ({ name: `${i + 1}`, duration: step, vus: i + 1 })),
    flows: flows.direct,
  }),
  senderConnections: 2,
  canary: false, // it uses the ingest
  question: { kind: 'exchange' },
});

const scenarios = run.scenarios({ pump: true }); // one iteration for each client
export const options = {
  scenarios: {
    ...scenarios,
    echo: { ...scenarios.sender, exec: 'echo', vus: 1 },
  },
  thresholds: run.thresholds(),
};

const publishing = stages().mqtt; // may write what the other may read
const [HELLO, OVER] = ['hello', 'over'].map((word) => `messages/${word}/${run.id}`);

/** @param {{ url: string, username?: string, password?: string }} where */
function connect({ url, username, password }) {
  const client = new Client({ protocol_version: 5, username, password });
  client.connect(url);
  return client;
}

/** Answers each ping at its reply topic, until all clients have ended. */
export function echo() {
  const [pongs, pings] = [connect(publishing), connect(reached.mqtt)];
  let through = 0;
  pings.on('message', (topic, _, { properties }) => {
    if (topic !== OVER) {
      pongs.publish(String(properties?.user.reply), topic === HELLO ? 'hello' : '', { qos });
    } else if (++through === clients) {
      pings.end();
      pongs.end();
    }
  });
  pings.subscribe(['messages/user/+', HELLO, OVER], { qos: 1 });
}

export function sender() {
  sleep(exec.scenario.iterationInInstance * step); // one client more in each step
  const [pings, pongs] = [connect(publishing), connect(reached.mqtt)];
  const reply = `messages/pong/${run.id}/${__VU}`;
  /** @type {import('k6/x/arrival').Slot | null} */
  let slot = null;
  const ping = () => {
    slot = run.next();
    if (slot === null) {
      pings.publish(OVER, '', { qos: 1 });
      pings.end();
      pongs.end();
      return;
    }
    const properties = { user: { hops: `${slot.stamp},0,0,0`, reply } };
    pings.publish(`messages/${slot.targets[0]}`, slot.body, { qos, properties });
  };
  // Nobody answers a ping until the echo has subscribed.
  const hello = () => pings.publish(HELLO, '', { properties: { user: { reply } } });
  const greeting = setInterval(hello, 200);
  let greeted = false;
  pongs.on('message', (_, payload) => {
    if (payload.byteLength > 0 && greeted) return; // another hello's
    if (!greeted) clearInterval(greeting);
    else if (slot !== null) run.settle(slot, 202);
    greeted = true;
    ping();
  });
  pongs.subscribe(reply, { qos });
  hello();
}

export function subscriber() {
  run.collect();
  const exchanged = run.result().facts.clients;
  if (!exchanged) return;
  const { most, steps } = exchanged;
  run.figure('all clients together, at most', most.messages_per_s, 'messages/s');
  run.figure('with', most.clients, 'clients');
  const every = Math.ceil(steps.length / 8);
  for (const { clients: n, each_messages_per_s } of steps.filter(
    (_, i) => i % every === 0 || i === steps.length - 1,
  ))
    run.figure(`${n} clients, each`, each_messages_per_s, 'messages/s');
}

export const handleSummary = run.summary;
