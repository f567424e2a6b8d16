import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import mqttPacket from 'mqtt-packet';
import { encodeFrame } from '../queue/frame.ts';
import { eventually } from '../test/services.ts';
import type { Broker } from './broker.ts';
import { type Batch, type HeldMessage, hold, holdEntry } from './holdings.ts';
import type { Publication } from './publication.ts';
import { userPropertiesOf } from './publication.ts';
import { Publisher } from './publisher.ts';

const RECEIVED = 1763700000123456;

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

function held(
  body: string,
  { target = 'user/17', stamps = `${RECEIVED},35`, trace = '', suspect = false } = {},
): HeldMessage {
  const frame = Buffer.from(encodeFrame({ target, stamps, trace, body }));
  const batch: Batch = { claimed: RECEIVED + 100, leased: 0, entries: [], open: 0 };
  const entry = { id: '1-1', frames: [frame], deliveries: 1, suspect, reason: '' };
  return hold(holdEntry(entry, batch), 0, false);
}

for (const stamps of ['now', '17', '17,', ',3', '17,3,4', '17,3x', '-17,3', '17,-', '12345678901234567,1']) {
  test(`invalid stamps are refused: "${stamps}"`, () => {
    assert.throws(
      () => held('{}', { stamps }),
      new RangeError(`"${stamps}" is not 2 comma-separated integers of microseconds`),
    );
  });
}

/** A message that the broker received, with a function to answer it. */
interface Published extends Publication {
  answer: (reasonCode: number) => void;
}

const SAID = { passing: ', for now', lasting: '', final: ', for good' };

/** A publisher at a broker that the test controls. */
function atBroker({ qos = 1 as 0 | 1, window = 4, largest = Number.POSITIVE_INFINITY } = {}) {
  const broker = {
    up: true,
    reason: 'cut off',
    endedBy: undefined as number | undefined,
    receiveMaximum: 100,
    maximumPacketSize: largest,
    published: [] as Published[],
    writes: [] as ((failed: boolean) => void)[],
    publish(publication: Publication, answer: (reasonCode: number) => void) {
      this.published.push({ ...publication, answer });
    },
    together(publish: () => void, written?: (failed: boolean) => void) {
      publish();
      if (written !== undefined) this.writes.push(written);
    },
    break: () => assert.fail('broken'),
  };
  const events: string[] = [];
  const body = ({ frame, traceEnd }: HeldMessage) => frame.toString('latin1', traceEnd + 1, traceEnd + 301);
  const publisher = new Publisher({
    broker: broker as unknown as Broker,
    qos,
    window,
    timeoutMs: 60_000,
    now: () => RECEIVED + 140,
    durations: { add: () => {} },
    listener: {
      onDelivered: (message) => events.push(`delivered ${body(message)}`),
      onRefused: (message, reason, kind) => events.push(`refused ${body(message)}: ${reason}${SAID[kind]}`),
      onSuspect: async (message) => {
        events.push(`suspect ${body(message)}`);
        return true;
      },
    },
  });
  const take = () =>
    broker.published.splice(0).map(({ payload, ...others }) => ({ ...others, payload: `${payload}` }));
  return { publisher, broker, events, take };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

test('a message is published with its topic, payload, flags and hops', () => {
  for (const qos of [0, 1] as const) {
    for (const redelivery of [false, true]) {
      const { publisher, broker } = atBroker({ qos });
      const message = held('{"text":"ä"}');
      message.redelivery = redelivery;
      const plain = held('', { stamps: '', target: 'ä' });
      for (const each of [message, plain]) publisher.add(each);
      publisher.flush();
      publisher.close();
      const flags = { qos, dup: false };
      assert.deepEqual(
        broker.published.map(({ answer, ...publication }) => publication),
        [
          {
            ...flags,
            topic: 'messages/user/17',
            payload: Buffer.from('{"text":"ä"}'),
            dup: qos === 1 && redelivery,
            hops: `${RECEIVED},35,65,40`,
            trace: '',
          },
          { ...flags, topic: 'messages/ä', payload: Buffer.alloc(0), hops: undefined, trace: '' },
        ],
      );
    }
  }
});

// Remaining lengths at the borders of their own encoding (MQTT 5, 1.5.5).
for (const size of [
  0, 60, 61, 62, 63, 64, 100, 101, 102, 16_316, 16_317, 16_357, 16_358, 2_097_100, 2_097_126,
]) {
  test(`a packet with ${size} bytes has the size that mqtt-packet generates`, () => {
    for (const qos of [0, 1] as const) {
      for (const [stamps, trace] of [
        [`${RECEIVED},35`, ''],
        ['', ''],
        ['', PARENT],
        [`${RECEIVED},35`, `${PARENT} a=${'b'.repeat(500)}`],
      ]) {
        const publish = (largest: number) => {
          const { publisher, broker, events } = atBroker({ qos, largest });
          publisher.add(held('x'.repeat(size), { stamps, trace, target: 'ä' }));
          publisher.flush();
          publisher.close();
          return { published: broker.published[0], events };
        };
        const { topic, payload, dup, ...others } = publish(Number.POSITIVE_INFINITY).published as Published;
        const userProperties = userPropertiesOf(others);
        const properties = userProperties && { properties: { userProperties } };
        const { length } = mqttPacket.generate(
          { cmd: 'publish', topic, payload, qos, dup, retain: false, messageId: 1, ...properties },
          { protocolVersion: 5 },
        );
        assert.ok(publish(length).published);
        const { published, events } = publish(length - 1);
        assert.equal(published, undefined);
        assert.match(
          events.join(),
          new RegExp(`: a packet of ${length} bytes, and the broker takes ${length - 1} `),
        );
      }
    }
  });
}

test('no more messages are in flight than the window, and a PUBACK releases the next one', async (t) => {
  const { publisher, events, take } = atBroker({ window: 2 });
  t.after(() => publisher.close());
  for (const body of ['a', 'b', 'c']) publisher.add(held(body));
  publisher.flush();
  const [a, b] = take();
  assert.deepEqual([a?.payload, b?.payload, publisher.inFlight, publisher.room], ['a', 'b', 2, -1]);
  b?.answer(0x10);
  b?.answer(0);
  await eventually(() => publisher.inFlight === 2, 'the next one');
  assert.deepEqual(
    take().map(({ payload }) => payload),
    ['c'],
  );
  assert.deepEqual(events, ['delivered b']);
});

test('messages in flight on a broken connection are first resent one at a time, as duplicates', async (t) => {
  const { publisher, broker, events, take } = atBroker({ window: 3 });
  t.after(() => publisher.close());
  for (const body of ['a', 'b', 'c', 'd']) publisher.add(held(body));
  publisher.flush();
  const first = take();
  first[0]?.answer(0);
  broker.up = false;
  publisher.broken();
  publisher.flush();
  await settle();
  assert.deepEqual(take(), []);
  broker.up = true;
  publisher.flush();
  for (const body of ['b', 'c']) {
    await eventually(() => broker.published.length > 0, 'a packet');
    const [alone, ...more] = take();
    assert.deepEqual([alone?.payload, alone?.dup, more, publisher.inFlight], [body, true, [], 1]);
    alone?.answer(0);
  }
  await eventually(() => broker.published.length > 0, 'a packet');
  assert.deepEqual(
    take().map(({ payload, dup }) => [payload, dup]),
    [['d', false]],
  );
  assert.deepEqual(events, ['delivered a', 'suspect b', 'delivered b', 'suspect c', 'delivered c']);
});

test('a refusal has a reason, and says whether it is temporary', (t) => {
  const { publisher, events, take } = atBroker({ largest: 200 });
  t.after(() => publisher.close());
  for (const body of ['a', 'b', 'x'.repeat(200), 'c']) publisher.add(held(body));
  publisher.flush();
  const codes = [0x87, 0x97, 0x99];
  for (const [i, { answer }] of take().entries()) answer(codes[i] as number);
  assert.deepEqual(
    events.map((event) => event.replace(/x{200}/, 'x')),
    [
      'refused x: a packet of 258 bytes, and the broker takes 200 at most, for good',
      'refused a: Not authorized (0x87)',
      'refused b: Quota exceeded (0x97), for now',
      'refused c: Payload format invalid (0x99)',
    ],
  );
  assert.equal(publisher.inFlight, 0);
});

test('a size that the broker has refused is kept: what is larger is not sent, what may fit is', (t) => {
  const { publisher, events, take } = atBroker();
  t.after(() => publisher.close());
  const publish = (body: string, target: string) => {
    publisher.add(held(body, { target }));
    publisher.flush();
    return take();
  };
  publish('x'.repeat(100), 'a').at(0)?.answer(0x95);
  assert.deepEqual(publish('y'.repeat(100), 'a'), []);
  // A larger packet, but a smaller payload: Mosquitto limits the payload.
  assert.equal(publish('z'.repeat(99), 'long/target').length, 1);
  assert.deepEqual(
    events.map((event) => event.replace(/(.)\1{9,}/, '$1')),
    [
      'refused x: Packet too large (0x95), for good',
      'refused y: a packet of 152 bytes, and the broker has refused one of 152 as too large, for good',
    ],
  );
});

// Regression: with a window of one, as serial relays have it, what follows waited for ever.
test('messages that are too large to be sent hold up no other', async (t) => {
  const { publisher, broker, events, take } = atBroker({ window: 1, largest: 200 });
  t.after(() => publisher.close());
  for (const body of ['x'.repeat(200), 'y'.repeat(200), 'a']) publisher.add(held(body));
  publisher.flush();
  await eventually(() => broker.published.length > 0, 'a packet');
  assert.deepEqual([take().map(({ payload }) => payload), events.length], [['a'], 2]);
});

/** What is published after a broker has ended the connection with this code. */
async function after(code: number, bodies: readonly string[], t: TestContext) {
  const { publisher, broker, events, take } = atBroker();
  t.after(() => publisher.close());
  for (const body of bodies) publisher.add(held(body));
  publisher.flush();
  take();
  broker.endedBy = code;
  publisher.broken();
  publisher.flush();
  await settle();
  const published = take().map(({ payload, dup }) => [payload.slice(0, 1), dup]);
  return { published, events: events.map((event) => event.replace(/(.)\1{9,}/, '$1')) };
}

test('a broker that ends the connection with 0x95 means the largest message', async (t) => {
  const { published, events } = await after(0x95, ['a', 'x'.repeat(100), 'b'], t);
  assert.deepEqual(published, [
    ['a', true],
    ['b', true],
  ]);
  assert.match(events.join(), /^refused x: a packet of \d+ bytes, .*, for good$/);
});

for (const code of [0x8b, 0x8e, 0x97]) {
  test(`no message is suspect when the broker ends the connection with 0x${code.toString(16)}`, async (t) => {
    const { published, events } = await after(code, ['a', 'b'], t);
    assert.deepEqual(published, [
      ['a', true],
      ['b', true],
    ]);
    assert.deepEqual(events, []);
  });
}

test('a message with a topic that MQTT forbids is refused, and the others are sent', (t) => {
  const { publisher, events, take } = atBroker();
  t.after(() => publisher.close());
  publisher.add(held('long', { target: 't'.repeat(65_527) }));
  publisher.add(held('b', { target: 't'.repeat(65_526) }));
  publisher.flush();
  assert.deepEqual(
    take().map(({ payload }) => payload),
    ['b'],
  );
  assert.deepEqual(events, ['refused long: a topic of 65536 bytes, and MQTT has 65535 at most, for good']);
  assert.equal(publisher.inFlight, 1);
});

test('QoS 0: a message is delivered once the socket has it, and others wait until then', async (t) => {
  const { publisher, broker, events, take } = atBroker({ qos: 0, window: 1000 });
  t.after(() => publisher.close());
  const large = 'x'.repeat(40_000);
  for (const body of [large, large, large]) publisher.add(held(body));
  publisher.flush();
  assert.equal(take().length, 2);
  assert.equal(publisher.inFlight, 2);
  broker.up = false;
  for (const written of broker.writes.splice(0)) written(false);
  publisher.broken();
  assert.equal(events.length, 2, 'at most once: written messages are not sent again');
  broker.up = true;
  publisher.flush();
  assert.equal(take().length, 1);
});

// Regression: the error was ignored, so messages that a destroyed socket never got were acknowledged.
test('QoS 0: messages of failed writes are first resent in order, one at a time', async (t) => {
  const { publisher, broker, events, take } = atBroker({ qos: 0, window: 1000 });
  t.after(() => publisher.close());
  const [a, b, c, gone] = ['a', 'b', 'c', 'gone'].map((body) => held(body)) as [
    HeldMessage,
    HeldMessage,
    HeldMessage,
    HeldMessage,
  ];
  const payloads = () => take().map(({ payload }) => payload);
  for (const first of [[a], [b, gone]]) {
    for (const message of first) publisher.add(message);
    publisher.flush();
  }
  assert.deepEqual(payloads(), ['a', 'b', 'gone']);
  gone.of.gone = true;
  broker.up = false;
  publisher.add(c);
  for (const written of broker.writes.splice(0)) written(true);
  publisher.broken();
  await settle();
  assert.deepEqual([payloads(), publisher.inFlight, events], [[], 0, []]);
  broker.up = true;
  publisher.flush();
  for (const body of ['a', 'b']) {
    await eventually(() => broker.writes.length > 0, 'a packet');
    assert.deepEqual(payloads(), [body]);
    broker.writes.shift()?.(false);
  }
  await eventually(() => broker.writes.length > 0, 'the rest');
  assert.deepEqual(payloads(), ['c']);
  assert.deepEqual(
    events,
    ['suspect a', 'suspect b'].flatMap((each) => [each, each.replace('suspect', 'delivered')]),
  );
});
