import assert from 'node:assert/strict';
import { test } from 'node:test';
import mqttPacket from 'mqtt-packet';
import { ReasonCodes } from './reason-codes.ts';

const PUBLISHED = mqttPacket.generate(
  {
    cmd: 'publish',
    topic: 'a',
    payload: Buffer.from([0x40, 3, 0, 9, 0x95]),
    qos: 0,
    dup: false,
    retain: false,
  },
  { protocolVersion: 5 },
);
const LONG = mqttPacket.generate(
  { cmd: 'publish', topic: 'a', payload: Buffer.alloc(20_000, 0xe0), qos: 0, dup: false, retain: false },
  { protocolVersion: 5 },
);
const STREAM = Buffer.concat([
  Buffer.from([0x20, 3, 0, 0, 0]),
  PUBLISHED,
  Buffer.from([0x40, 2, 0, 1]),
  Buffer.from([0x40, 3, 1, 2, 0x95]),
  Buffer.from([0xd0, 0]),
  LONG,
  // A PUBACK with a reason string.
  Buffer.from([0x40, 8, 0, 3, 0xc1, 4, 0x1f, 0, 1, 0x40]),
  Buffer.from([0x40, 4, 0, 4, 0x10, 0]),
  Buffer.from([0x40, 3, 0, 5, 0x01]),
  Buffer.from([0xe0, 1, 0xf0]),
]);

for (const size of [1, 2, 3, 7, STREAM.length]) {
  test(`codes are read and replaced in pieces of ${size} bytes`, () => {
    const codes = new ReasonCodes();
    const parser = mqttPacket.parser({ protocolVersion: 5 });
    const seen: string[] = [];
    parser.on('error', (error) => assert.fail(error));
    parser.on('packet', (packet) => {
      if (packet.cmd === 'puback') seen.push(`${packet.messageId} ${packet.reasonCode}`);
      else if (packet.cmd === 'publish') seen.push(`payload of ${packet.payload.length}`);
      else seen.push(packet.cmd);
    });
    const bytes = Buffer.from(STREAM);
    for (let i = 0; i < bytes.length; i += size) {
      const piece = bytes.subarray(i, i + size);
      codes.read(piece);
      parser.parse(piece);
    }
    assert.deepEqual(seen, [
      ...['connack', 'payload of 5', '1 0', '258 128', 'pingresp', 'payload of 20000'],
      ...['3 128', '4 0', '5 0', 'disconnect'],
    ]);
    assert.deepEqual([codes.failureOf(258), codes.failureOf(3), codes.failureOf(4)], [0x95, 0xc1, undefined]);
    assert.equal(codes.disconnect, 0xf0);
    const payloads = [PUBLISHED, LONG].map((packet) => bytes.includes(packet));
    assert.deepEqual(payloads, [true, true]);
  });
}
