import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import mqttPacket, { type IPublishPacket, type Packet } from 'mqtt-packet';
import { encodeFrame } from '../queue/frame.ts';
import { eventually } from '../test/services.ts';
import { AckReader, AckTap, OWN_PACKET_IDS } from './acks.ts';
import type { Broker } from './broker.ts';
import { type Batch, type Held, hold, holdEntry } from './held.ts';
import { encodePublish, packetBound } from './packet.ts';
import { Publisher } from './publisher.ts';

const RECEIVED = 1763700000123456;

function held(body: string, { target = 'user/17', stamps = `${RECEIVED},35`, suspect = false } = {}): Held {
  const frame = Buffer.from(encodeFrame({ target, stamps, body }));
  const batch: Batch = { claimed: RECEIVED + 100, leased: 0, entries: [], open: 0 };
  const entry = { id: '1-1', frames: [frame], deliveries: 1, suspect, reason: '' };
  return hold(holdEntry(entry, batch), 0, false);
}

function decode(bytes: Buffer): IPublishPacket[] {
  const packets: Packet[] = [];
  const parser = mqttPacket.parser({ protocolVersion: 5 });
  parser.on('packet', (packet) => packets.push(packet));
  parser.on('error', assert.fail);
  parser.parse(bytes);
  return packets as IPublishPacket[];
}

const bodies: [name: string, body: string][] = [
  ['nothing', ''],
  ['text beyond ASCII', '{"text":"ä \u2028\n"}'],
  // Remaining lengths around the sizes of their own encoding (MQTT 5, 1.5.5).
  ...[60, 61, 62, 16_316, 16_317, 2_097_100].map((size): [string, string] => [
    `${size} bytes`,
    'x'.repeat(size),
  ]),
];
for (const [name, body] of bodies) {
  test(`a packet as mqtt-packet reads it: ${name}`, () => {
    for (const qos of [0, 1] as const) {
      for (const stamps of [`${RECEIVED},35`, '']) {
        for (const redelivery of [false, true]) {
          const message = held(body, { stamps });
          message.packetId = 0x1234;
          message.redelivery = redelivery;
          const into = Buffer.alloc(packetBound(message) + 3, 0xee);
          const end = encodePublish(into, 3, message, qos, RECEIVED + 140);
          const [packet, ...more] = decode(into.subarray(3, end));
          assert.equal(more.length, 0);
          assert.equal(packet?.topic, 'messages/user/17');
          assert.ok(Buffer.from(body).equals(packet.payload as Buffer));
          assert.deepEqual([packet.qos, packet.retain], [qos, false]);
          assert.equal(packet.dup, qos === 1 && redelivery);
          assert.equal(packet.messageId, qos === 1 ? 0x1234 : undefined);
          const hops = packet.properties?.userProperties?.hops;
          if (stamps === '') assert.equal(hops, undefined);
          else assert.equal(hops, `${RECEIVED},35,65,40`);
        }
      }
    }
  });
}

test('hops that are as long as they may be stay within the bound', () => {
  const message = held('{}', { stamps: '9999999999999999,-999999999999999', target: 't'.repeat(128) });
  const into = Buffer.alloc(packetBound(message));
  const end = encodePublish(into, 0, message, 1, 1);
  const [packet] = decode(into.subarray(0, end));
  const hops = packet?.properties?.userProperties?.hops;
  assert.equal(hops, '9999999999999999,-999999999999999,-7236299999876445,-1763700000123555');
});

for (const stamps of ['now', '17', '17,', ',3', '17,3,4', '17,3x', '-17,3', '17,-', '12345678901234567,1']) {
  test(`no stamps: "${stamps}"`, () => {
    assert.throws(
      () => held('{}', { stamps }),
      new RangeError(`"${stamps}" is not 2 comma-separated integers of microseconds`),
    );
  });
}

test('PUBACKs of our own are taken out, wherever the bytes are cut; everything else is passed on', () => {
  const v5 = { protocolVersion: 5 };
  const packets: Packet[] = [
    { cmd: 'puback', messageId: 1 },
    { cmd: 'pingresp' },
    { cmd: 'puback', messageId: 2, reasonCode: 0x97, properties: { reasonString: 'x'.repeat(200) } },
    { cmd: 'puback', messageId: OWN_PACKET_IDS + 1, reasonCode: 0 },
    { cmd: 'publish', topic: 'a', payload: Buffer.alloc(300, 0x40), qos: 0, dup: false, retain: false },
    { cmd: 'puback', messageId: OWN_PACKET_IDS, reasonCode: 0x10 },
  ];
  const parts = packets.map((packet) => mqttPacket.generate(packet, v5));
  // mqtt-packet does not know that a packet can be too large.
  const tooLarge = Buffer.from([0x40, 3, 0, 3, 0x95]);
  const bytes = Buffer.concat([...parts, tooLarge]);
  const others = Buffer.concat([parts[1] as Buffer, parts[3] as Buffer, parts[4] as Buffer]);
  for (let cut = 1; cut <= bytes.length; cut++) {
    const acks: [number, number][] = [];
    const passed: Buffer[] = [];
    const reader = new AckReader(
      (...ack) => acks.push(ack),
      (rest) => passed.push(Buffer.from(rest)),
    );
    for (let at = 0; at < bytes.length; at += cut) reader.read(bytes.subarray(at, at + cut));
    assert.deepEqual(
      acks,
      [
        [1, 0],
        [2, 0x97],
        [OWN_PACKET_IDS, 0x10],
        [3, 0x95],
      ],
      `in pieces of ${cut}`,
    );
    assert.ok(Buffer.concat(passed).equals(others), `in pieces of ${cut}`);
  }
});

test('PUBACKs that nothing waits for are read together, others as they come; the rest passes', async (t) => {
  // Nobody's time passes but by `tick`.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = async (most: number, holds = () => false) => {
    for (let i = 0; i < most && !holds(); i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const { port } = server.address() as AddressInfo;
  const acks: number[] = [];
  const told = (count: number) => turns(1e6, () => acks.length === count);
  let needed = false;
  const tap = new AckTap((onread) => connect({ host: '127.0.0.1', port, onread }), {
    onAck: (packetId) => acks.push(packetId),
    needsAcks: () => needed,
  });
  t.after(() => {
    tap.destroy();
    server.close();
  });
  const passed: Buffer[] = [];
  tap.on('data', (chunk: Buffer) => passed.push(chunk));
  const [peer] = (await accepted) as [Socket];
  const write = (...bytes: number[]) => peer.write(Buffer.from(bytes));

  write(0x40, 2, 0, 1);
  await told(1);
  write(0x40, 2, 0, 2);
  write(0x40, 2, 0, 3);
  await turns(100);
  assert.deepEqual(acks, [1]);
  needed = true;
  t.mock.timers.tick(1);
  await told(3);
  // A packet in two pieces, with a PINGRESP before it: the buffer is used again in between.
  write(0xd0, 0, 0x40, 2);
  await turns(1e6, () => passed.length === 1);
  write(0, 4);
  await told(4);
  assert.deepEqual(acks, [1, 2, 3, 4]);
  assert.deepEqual(passed, [Buffer.from([0xd0, 0])]);
  const ended = once(tap, 'close');
  peer.destroy();
  await ended;
});

/** A publisher at a broker that does what it is told. */
function atBroker({ qos = 1 as 0 | 1, window = 4, largest = Number.POSITIVE_INFINITY } = {}) {
  const broker = {
    up: true,
    reason: 'cut off',
    receiveMaximum: 100,
    maximumPacketSize: largest,
    written: [] as IPublishPacket[],
    callbacks: [] as ((error?: Error) => void)[],
    write(packets: Buffer, written?: (error?: Error) => void) {
      this.written.push(...decode(packets));
      if (written !== undefined) this.callbacks.push(written);
    },
    break: () => assert.fail('broken'),
  };
  const events: string[] = [];
  const body = ({ frame, stampsEnd }: Held) => frame.toString('latin1', stampsEnd + 1, stampsEnd + 301);
  const publisher = new Publisher({
    broker: broker as unknown as Broker,
    qos,
    window,
    timeoutMs: 60_000,
    now: () => RECEIVED,
    onDelivered: (message) => events.push(`delivered ${body(message)}`),
    onRefused: (message, reason, lasting) =>
      events.push(`refused ${body(message)}: ${reason}${lasting ? '' : ', for now'}`),
    onSuspect: async (message) => {
      events.push(`suspect ${body(message)}`);
      return true;
    },
  });
  const take = () =>
    broker.written
      .splice(0)
      .map(({ payload, dup, messageId }) => ({ payload: `${payload}`, dup, messageId }));
  return { publisher, broker, events, take };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

test('no more are in flight than the window, and a PUBACK lets the next one go', async (t) => {
  const { publisher, events, take } = atBroker({ window: 2 });
  t.after(() => publisher.close());
  for (const body of ['a', 'b', 'c']) publisher.add(held(body));
  publisher.flush();
  const [a, b] = take();
  assert.deepEqual([a?.payload, b?.payload, publisher.inFlight, publisher.room], ['a', 'b', 2, -1]);
  publisher.acknowledge(b?.messageId as number, 0x10);
  publisher.acknowledge(b?.messageId as number, 0);
  await eventually(() => publisher.inFlight === 2, 'the next one');
  assert.deepEqual(
    take().map(({ payload }) => payload),
    ['c'],
  );
  assert.deepEqual(events, ['delivered b']);
});

test('what was in flight on a broken connection goes again alone, in order and as duplicates, before the rest', async (t) => {
  const { publisher, broker, events, take } = atBroker({ window: 3 });
  t.after(() => publisher.close());
  for (const body of ['a', 'b', 'c', 'd']) publisher.add(held(body));
  publisher.flush();
  const first = take();
  publisher.acknowledge(first[0]?.messageId as number, 0);
  broker.up = false;
  publisher.broken();
  publisher.flush();
  await settle();
  assert.deepEqual(take(), []);
  broker.up = true;
  publisher.flush();
  for (const body of ['b', 'c']) {
    await eventually(() => broker.written.length > 0, 'a packet');
    const [alone, ...more] = take();
    assert.deepEqual([alone?.payload, alone?.dup, more, publisher.inFlight], [body, true, [], 1]);
    publisher.acknowledge(alone?.messageId as number, 0);
  }
  await eventually(() => broker.written.length > 0, 'a packet');
  assert.deepEqual(
    take().map(({ payload, dup }) => [payload, dup]),
    [['d', false]],
  );
  assert.deepEqual(events, ['delivered a', 'suspect b', 'delivered b', 'suspect c', 'delivered c']);
});

test('a refusal is told with its reason, and whether the message is why', (t) => {
  const { publisher, events, take } = atBroker({ largest: 200 });
  t.after(() => publisher.close());
  for (const body of ['a', 'b', 'x'.repeat(200), 'c']) publisher.add(held(body));
  publisher.flush();
  const codes = [0x87, 0x97, 0x95];
  for (const [i, { messageId }] of take().entries())
    publisher.acknowledge(messageId as number, codes[i] as number);
  assert.deepEqual(
    events.map((event) => event.replace(/x{200}/, 'x')),
    [
      'refused x: a packet of 260 bytes, and the broker takes 200 at most',
      'refused a: Not authorized (0x87)',
      'refused b: Quota exceeded (0x97), for now',
      'refused c: Packet too large (0x95)',
    ],
  );
  assert.equal(publisher.inFlight, 0);
});

// The RangeError was an uncaught exception where a PUBACK had let it go.
test('a message that no packet holds is refused, and the others go', (t) => {
  const { publisher, events, take } = atBroker();
  t.after(() => publisher.close());
  const frame = Buffer.alloc(2 ** 28);
  frame.write('a\n\nlarge');
  const batch: Batch = { claimed: RECEIVED, leased: 0, entries: [], open: 0 };
  const entry = { id: '1-1', frames: [frame], deliveries: 1, suspect: false, reason: '' };
  publisher.add(hold(holdEntry(entry, batch), 0, false));
  publisher.add(held('b'));
  publisher.flush();
  assert.deepEqual(
    take().map(({ payload }) => payload),
    ['b'],
  );
  assert.match(events.join(), /^refused large.*: 268435456 bytes are more than an MQTT packet holds$/);
  assert.equal(publisher.inFlight, 1);
});

test('QoS 0: delivered when the socket has it, and nothing more goes while it does not', async (t) => {
  const { publisher, broker, events, take } = atBroker({ qos: 0, window: 1000 });
  t.after(() => publisher.close());
  const large = 'x'.repeat(40_000);
  for (const body of [large, large, large]) publisher.add(held(body));
  publisher.flush();
  assert.equal(take().length, 2);
  assert.equal(publisher.inFlight, 2);
  broker.up = false;
  publisher.broken();
  for (const written of broker.callbacks.splice(0)) written();
  assert.equal(events.length, 2, 'at most once: what the socket had is not sent again');
  broker.up = true;
  publisher.flush();
  assert.equal(take().length, 1);
});

// The error was ignored: what a destroyed socket never had was acknowledged.
test('QoS 0: messages of writes that failed go again, in order, alone and before the rest', async (t) => {
  const { publisher, broker, events, take } = atBroker({ qos: 0, window: 1000 });
  t.after(() => publisher.close());
  const [a, b, c, gone] = ['a', 'b', 'c', 'gone'].map((body) => held(body)) as [Held, Held, Held, Held];
  const payloads = () => take().map(({ payload }) => payload);
  for (const first of [[a], [b, gone]]) {
    for (const message of first) publisher.add(message);
    publisher.flush();
  }
  assert.deepEqual(payloads(), ['a', 'b', 'gone']);
  gone.of.gone = true;
  broker.up = false;
  publisher.add(c);
  for (const written of broker.callbacks.splice(0)) written(new Error('the socket is destroyed'));
  publisher.broken();
  await settle();
  assert.deepEqual([payloads(), publisher.inFlight, events], [[], 0, []]);
  broker.up = true;
  publisher.flush();
  for (const body of ['a', 'b']) {
    await eventually(() => broker.callbacks.length > 0, 'a packet');
    assert.deepEqual(payloads(), [body]);
    broker.callbacks.shift()?.();
  }
  await eventually(() => broker.callbacks.length > 0, 'the rest');
  assert.deepEqual(payloads(), ['c']);
  assert.deepEqual(
    events,
    ['suspect a', 'suspect b'].flatMap((each) => [each, each.replace('suspect', 'delivered')]),
  );
});
