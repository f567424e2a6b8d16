import type { Entry, Message } from './queue.ts';

/**
 * Encodes a message for the queue: `<target>\n<stamps>\n<body>`, or `<target>\n<stamps> <trace>\n<body>`. It is one
 * value, as each value of a command or reply costs the client more than its bytes do.
 */
export function encodeFrame({ target, stamps, trace, body }: Message): string {
  return trace ? `${target}\n${stamps} ${trace}\n${body}` : `${target}\n${stamps}\n${body}`;
}

/** Separates the frames of an entry. JSON has this character only escaped (RFC 8259, 7; RFC 7464 uses it). */
const SEPARATOR = '\x1e';
const SEPARATOR_BYTE = 0x1e;

/** Most frames of an entry, and most characters, unless a single message has more. */
export const ENTRY_FRAMES = 64;
const ENTRY_LENGTH = 65_536;

/** Packs messages into as few entries as possible: an entry costs Redis ten times as much as a message in it. */
export function packFrames(messages: readonly Message[]): string[] {
  const packs: string[] = [];
  let pack = '';
  let count = 0;
  for (const message of messages) {
    const frame = encodeFrame(message);
    if (count > 0 && (count === ENTRY_FRAMES || pack.length + frame.length >= ENTRY_LENGTH)) {
      packs.push(pack);
      count = 0;
    }
    pack = count === 0 ? frame : pack + SEPARATOR + frame;
    count++;
  }
  packs.push(pack);
  return packs;
}

/** The frames of an entry, as they are in `packed`. */
export function unpackFrames(packed: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  let start = 0;
  for (let end = packed.indexOf(SEPARATOR_BYTE); end >= 0; end = packed.indexOf(SEPARATOR_BYTE, start)) {
    frames.push(packed.subarray(start, end));
    start = end + 1;
  }
  frames.push(start === 0 ? packed : packed.subarray(start));
  return frames;
}

/** The entry that Redis gives with this id and these fields; without fields it has no frames. */
export function entryOf(
  prefix: string,
  id: Buffer,
  raw: readonly Buffer[] | null,
  deliveries: number,
  suspect = false,
): Entry {
  const fields = raw ?? [];
  const text = (name: string) => fields[fieldAt(fields, name)]?.toString() ?? '';
  const packed = fields[fieldAt(fields, 'frame')];
  const entry = {
    id: prefix + id.toString('latin1'),
    frames: packed === undefined ? [] : unpackFrames(packed),
  };
  // Most entries have only their frames.
  if (fields.length <= 2) return { ...entry, deliveries, suspect, reason: '' };
  return {
    ...entry,
    deliveries: Math.max(deliveries, Number(text('deliveries')) || 0),
    suspect: suspect || text('suspect') === '1',
    reason: text('reason'),
  };
}

/** The index of a field's value; -1: the entry does not have the field. */
export function fieldAt(fields: readonly Buffer[], name: string): number {
  for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i]?.toString('latin1') === name) return i + 1;
  return -1;
}

/** The bytes of all frames. */
export function bytesOf(frames: readonly Buffer[]): number {
  let bytes = 0;
  for (const frame of frames) bytes += frame.length;
  return bytes;
}

/** The offsets at which the parts of a frame end: at a line feed, or for the stamps at the space that begins a trace. */
interface FrameEnds {
  target: number;
  stamps: number;
  /** The end of the line that stamps and trace share; equals `stamps` in a frame without a trace. */
  trace: number;
}

const LINE_FEED = 10;
const SPACE = 0x20;
/** Characters of the longest stamps (hops.ts): only a longer line is searched for a trace. */
const LONGEST_STAMPS = 16 + 1 + 1 + 15;

/** Finds the ends. Throws a `RangeError` when these bytes are not a frame. */
export function frameEnds(frame: Buffer): FrameEnds {
  // Both are within the first few bytes, where a loop is cheaper than `indexOf`.
  let target = 0;
  while (target < frame.length && frame[target] !== LINE_FEED) target++;
  let trace = target + 1;
  while (trace < frame.length && frame[trace] !== LINE_FEED) trace++;
  if (trace >= frame.length) throw new RangeError('the frame has no target, stamps or body');
  if (target === 0) throw new RangeError('the frame has no target');
  let stamps = trace;
  if (trace - target > 1 + LONGEST_STAMPS) {
    const space = frame.indexOf(SPACE, target + 1);
    if (space >= 0 && space < trace) stamps = space;
  }
  return { target, stamps, trace };
}

/** Reverses {@link encodeFrame}. Throws a `RangeError` when these bytes are not a frame. */
export function decodeFrame(frame: Buffer): { target: string; stamps: string; trace: string; body: Buffer } {
  const ends = frameEnds(frame);
  return {
    target: frame.toString('utf8', 0, ends.target),
    stamps: frame.toString('latin1', ends.target + 1, ends.stamps),
    trace: frame.toString('latin1', ends.stamps + 1, ends.trace),
    body: frame.subarray(ends.trace + 1),
  };
}

/** A traceparent of a version above 00 may be longer (3.2.4). */
const TRACEPARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-[\x21-\x7e]{0,200})?$/;
/** Its longest form is what everybody should pass on (3.3.1.5): each message of a batch holds a copy. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/**
 * Reads the W3C trace context (https://www.w3.org/TR/trace-context/) from the header fields of a request; it becomes MQTT 5 user
 * properties of the same names. Returns `<traceparent>` or `<traceparent> <tracestate>`; empty: the request has none that is valid.
 */
export function traceOf(headers: Record<string, string | string[] | undefined>): string {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return '';
  if (typeof tracestate !== 'string' || !TRACESTATE.test(tracestate)) return traceparent;
  return `${traceparent} ${tracestate}`;
}

/** Splits what {@link traceOf} put together. */
export function splitTrace(trace: string): { traceparent: string; tracestate?: string } {
  const space = trace.indexOf(' ');
  if (space < 0) return { traceparent: trace };
  return { traceparent: trace.slice(0, space), tracestate: trace.slice(space + 1) };
}
