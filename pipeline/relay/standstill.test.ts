/** A relay that stands still while there is work says so, at /readyz and in the log: once when it begins, once when it ends. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { generate, type IConnackPacket, type IPublishPacket, parser } from 'mqtt-packet';
import type { Problem } from '../common/readiness.ts';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { type Env, healthOf, type InProcess, relayHere } from '../test/running.ts';
import { eventually, startRedis } from '../test/services.ts';
import { serve } from '../test/strangers.ts';

const WITHIN_MS = 60_000;

let redisServer: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let queue: MessageQueue;

before(async () => {
  redisServer = await startRedis();
  redis = new Redis(redisServer.url);
  queue = openQueue('stream', { url: redisServer.url, timeoutMs: WITHIN_MS });
  await queue.whenReady(WITHIN_MS);
});

after(async () => {
  queue.close();
  redis.disconnect();
  await redisServer.service.remove();
});

beforeEach(async () => {
  await redis.flushall();
  await queue.join();
});

/** A broker for MQTT 5 that a test controls. */
class Broker {
  /** The reason code of its CONNACK, and its properties. */
  reasonCode = 0;
  properties: NonNullable<IConnackPacket['properties']> = {};
  /** The answer to a message: 0, or a reason code with what the broker says beside it. */
  refusal: { code: number; reasonString?: string } | undefined;
  /** It ends each connection with this code when a message comes. */
  disconnect: { code: number; reasonString: string; serverReference: string } | undefined;
  readonly published: IPublishPacket[] = [];

  listen(t: TestContext): Promise<number> {
    return serve(t, (socket) => {
      const packets = parser({ protocolVersion: 5 });
      const send = (packet: Parameters<typeof generate>[0]) =>
        socket.write(generate(packet, { protocolVersion: 5 }));
      packets.on('packet', (packet) => {
        if (packet.cmd === 'connect')
          send({
            cmd: 'connack',
            sessionPresent: false,
            reasonCode: this.reasonCode,
            properties: this.properties,
          });
        if (packet.cmd !== 'publish') return;
        this.published.push(packet);
        const { messageId, topic, qos } = packet;
        const isMessage = topic.startsWith('messages/');
        if (isMessage && this.disconnect !== undefined) {
          const { code: reasonCode, ...properties } = this.disconnect;
          send({ cmd: 'disconnect', reasonCode, properties } as never);
          socket.end();
          return;
        }
        const { code = 0, ...properties } = (isMessage && this.refusal) || {};
        if (qos === 1) send({ cmd: 'puback', messageId, reasonCode: code, properties } as never);
      });
      socket.on('data', (bytes) => packets.parse(bytes));
    });
  }
}

interface Observed {
  relay: InProcess;
  problems(): Promise<Problem[]>;
}

async function startRelay(t: TestContext, broker: Broker, env: Env = {}): Promise<Observed> {
  const port = await broker.listen(t);
  const relay = relayHere({
    REDIS_URL: redisServer.as('relay'),
    MQTT_URL: `mqtt://127.0.0.1:${port}`,
    PROCESS_NAME: 'relay-x',
    RELAY_GRACE_MS: '300',
    ...env,
  });
  t.after(() => relay.stop());
  const url = await healthOf(relay);
  const problems = async () => (await (await fetch(`${url}/readyz`)).json()).problems;
  return { relay, problems };
}

async function append(count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    await queue.append([{ body: JSON.stringify({ id: `r.1.${n}` }), target: 'a', stamps: '' }]);
}

const problem = async ({ problems }: Observed, says: RegExp) =>
  eventually(async () => (await problems()).some((each) => says.test(each.problem)), String(says), WITHIN_MS);
const none = async ({ problems }: Observed) =>
  eventually(async () => (await problems()).length === 0, 'no problem', WITHIN_MS);
const emptied = () => eventually(async () => (await queue.depth()) === 0, 'an empty queue', WITHIN_MS);
const messageOf = (line: string) => (line.startsWith('{') ? JSON.parse(line).msg : line);
const lines = ({ relay }: Observed, says: RegExp) =>
  relay.lastLines.filter((line) => says.test(messageOf(line))).length;

// Regression: 200 messages were delivered, then nothing, with a green /readyz and one line that named no command.
for (const right of ['xack', 'xdel']) {
  test(`the right to ${right} is taken`, async (t) => {
    const relay = await startRelay(t, new Broker(), { RELAY_WINDOW: '10' });
    await relay.relay.says(/relaying as/, WITHIN_MS);
    t.after(() => redis.acl('SETUSER', 'relay', `+${right}`));
    for (let episode = 1; episode <= 2; episode++) {
      await redis.acl('SETUSER', 'relay', `-${right}`);
      await append(20);
      await problem(relay, new RegExp(`does not allow it.*${right}`, 'i'));
      await eventually(() => lines(relay, /does not allow it/) === episode, 'a line', WITHIN_MS);
      await redis.acl('SETUSER', 'relay', `+${right}`);
      await emptied();
      await none(relay);
      await eventually(() => lines(relay, /leave the queue again, after/) === episode, 'its end', WITHIN_MS);
    }
  });
}

// Regression: no problem at /readyz, and the second episode was in no log.
for (const code of [0x97, 0x96, 0x89, 0x91]) {
  test(`the broker refuses each message for now with 0x${code.toString(16)}`, async (t) => {
    const broker = new Broker();
    const relay = await startRelay(t, broker);
    await relay.relay.says(/relaying as/, WITHIN_MS);
    for (let episode = 1; episode <= 2; episode++) {
      broker.refusal = { code, reasonString: 'the house is full' };
      await append(5);
      await problem(
        relay,
        new RegExp(`refuses messages for now: .*\\(0x${code.toString(16)}\\): the house is full`),
      );
      broker.refusal = undefined;
      await emptied();
      await none(relay);
      await eventually(() => lines(relay, /takes messages again, after/) === episode, 'its end', WITHIN_MS);
      assert.equal(lines(relay, /refuses messages for now/), episode);
    }
  });
}

for (const property of ['receiveMaximum', 'maximumPacketSize']) {
  test(`the broker allows no message: its ${property} is 0`, async (t) => {
    const broker = new Broker();
    broker.properties = { [property]: 0 };
    const relay = await startRelay(t, broker);
    await append(1);
    await problem(relay, /the broker is away: the broker takes no message at all: .* is 0/);
    assert.equal(lines(relay, /takes no message at all/), 1);
    broker.properties = {};
    await emptied();
    await none(relay);
    assert.equal(await queue.deadLetters.count(), 0);
  });
}

// Regression: QoS 1 was sent to it (MQTT 5, 3.2.2.3.4).
test('a broker of QoS 0 gets no QoS 1', async (t) => {
  const broker = new Broker();
  broker.properties = { maximumQoS: 0 };
  const refused = await startRelay(t, broker);
  assert.match(await refused.relay.ended, /code 1/);
  assert.match(
    refused.relay.lastLines.at(-1) ?? '',
    /^MQTT_URL: .*Maximum QoS.*MQTT_QOS is 1; allowed: MQTT_QOS=0/,
  );
  assert.equal(broker.published.length, 0);
  await startRelay(t, broker, { MQTT_QOS: '0' });
  await append(3);
  await emptied();
  await eventually(
    () => broker.published.filter(({ topic }) => topic === 'messages/a').length === 3,
    'messages',
  );
  assert.deepEqual([...new Set(broker.published.map(({ qos }) => qos))], [0]);
});

test("the broker's own words and the server that it refers to are shown", async (t) => {
  const broker = new Broker();
  broker.disconnect = { code: 0x9c, reasonString: 'I move', serverReference: 'other.example:1883' };
  const relay = await startRelay(t, broker);
  await relay.relay.says(/relaying as/, WITHIN_MS);
  await append(1);
  await problem(relay, /Use another server \(0x9c\): I move; it refers to other\.example:1883/);
  await relay.relay.says(/the broker is away: .*I move; it refers to other\.example:1883/, WITHIN_MS);
  broker.disconnect = undefined;
  await emptied();
});

test('so they are of a connection that it refuses', async (t) => {
  const broker = new Broker();
  broker.reasonCode = 0x9d;
  broker.properties = { reasonString: 'gone \u001b[31m', serverReference: 'other.example:1883' };
  const relay = await startRelay(t, broker);
  const says = /Server moved \(0x9d\): gone \\u001b\[31m; it refers to other\.example:1883/;
  await problem(relay, says);
  await eventually(() => lines(relay, says) === 1, 'a line', WITHIN_MS);
  Object.assign(broker, { reasonCode: 0, properties: {} });
  await relay.relay.says(/relaying as/, WITHIN_MS);
});
