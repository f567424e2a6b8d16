import { formatDeltas } from '../hops.ts';
import type { Held } from './held.ts';

/** The topic of a message is this and its target. */
export const TOPIC_PREFIX = 'messages/';

const PREFIX = Buffer.from(TOPIC_PREFIX);
/** User property (MQTT 5, 2.2.2.2: identifier 38), a string pair: its name, and where the value's length goes. */
const NAME = Buffer.from([38, 0, 4, ...Buffer.from('hops')]);
const PUBLISH = 0x30;
const DUP = 0x08;
/** Four stamps of 17 characters at most, and commas: the properties' length takes one byte. */
const HOPS_MAX = 71;
/** What a packet has besides topic and payload, at most: fixed header, topic length, packet id, properties. */
const OVERHEAD = 5 + 2 + PREFIX.length + 2 + 1 + NAME.length + 2 + HOPS_MAX;
/** The remaining length is of four bytes with 7 bits each (MQTT 5, 1.5.5). */
const LARGEST = 268_435_455;

/** At least as many bytes as {@link encodePublish} writes. */
export function packetBound(held: Held): number {
  return held.frame.length + OVERHEAD;
}

/**
 * Writes an MQTT 5 PUBLISH packet (3.3) with the `hops` of a message that carries stamps, and returns where it
 * ends. mqtt.js would take two thirds of a relay's CPU for it.
 *
 * @param published µs of the reference clock, now.
 */
export function encodePublish(into: Buffer, at: number, held: Held, qos: 0 | 1, published: number): number {
  const { frame, targetEnd, stampsEnd, queued } = held;
  const stamped = !Number.isNaN(queued);
  const deltas = stamped ? formatDeltas(queued, held.of.batch.claimed, published) : '';
  const topic = PREFIX.length + targetEnd;
  const stamps = stampsEnd - targetEnd - 1;
  const hops = stamps + deltas.length;
  const properties = stamped ? NAME.length + 2 + hops : 0;
  let end = at;
  into[end++] = PUBLISH | (qos << 1) | (qos === 1 && held.redelivery ? DUP : 0);
  let remaining = 2 + topic + (qos === 1 ? 2 : 0) + 1 + properties + frame.length - stampsEnd - 1;
  if (remaining > LARGEST) throw new RangeError(`${frame.length} bytes are more than an MQTT packet holds`);
  while (remaining > 127) {
    into[end++] = (remaining & 127) | 128;
    remaining >>>= 7;
  }
  into[end++] = remaining;
  into[end++] = topic >>> 8;
  into[end++] = topic & 255;
  end = bytes(PREFIX, 0, PREFIX.length, into, end);
  end = bytes(frame, 0, targetEnd, into, end);
  if (qos === 1) {
    into[end++] = held.packetId >>> 8;
    into[end++] = held.packetId & 255;
  }
  into[end++] = properties;
  if (stamped) {
    end = bytes(NAME, 0, NAME.length, into, end);
    into[end++] = hops >>> 8;
    into[end++] = hops & 255;
    end = bytes(frame, targetEnd + 1, stampsEnd, into, end);
    for (let i = 0; i < deltas.length; i++) into[end++] = deltas.charCodeAt(i);
  }
  return end + frame.copy(into, end, stampsEnd + 1);
}

/** A few bytes: a call of `copy` costs more than a loop. */
function bytes(from: Buffer, start: number, stop: number, into: Buffer, at: number): number {
  let end = at;
  for (let i = start; i < stop; i++) into[end++] = from[i] as number;
  return end;
}
