/** A message on its way into the queue. */
export interface Message {
  /** The JSON as posted. */
  body: Buffer | string;
  /** The topic below `messages/`; it holds no line break. */
  target: string;
  /** `formatStamps` of hops.ts; empty: none. */
  stamps: string;
}

/**
 * A message as the queue holds it: `<target>\n<stamps>\n<body>`. One value, since each value of a command and
 * of a reply costs the client more than its bytes do. A text stays a text: Redis gets it as UTF-8.
 */
export function encodeFrame({ target, stamps, body }: Message): Buffer | string {
  const head = `${target}\n${stamps}\n`;
  return typeof body === 'string' ? head + body : Buffer.concat([Buffer.from(head), body]);
}

/** Where the parts of a frame are: the target ends at `target`, the stamps at `stamps`, each before a line feed. */
export interface FrameEnds {
  target: number;
  stamps: number;
}

const LINE_FEED = 10;

/** Throws a `RangeError` when these bytes are no frame. */
export function frameEnds(frame: Buffer): FrameEnds {
  // Both are within the first few bytes: a call of `indexOf` costs more than looking at them.
  let target = 0;
  while (target < frame.length && frame[target] !== LINE_FEED) target++;
  let stamps = target + 1;
  while (stamps < frame.length && frame[stamps] !== LINE_FEED) stamps++;
  if (stamps >= frame.length) throw new RangeError('the frame has not the lines target, stamps and body');
  if (target === 0) throw new RangeError('the frame has no target');
  return { target, stamps };
}

/** What {@link encodeFrame} made. Throws a `RangeError` when these bytes are no frame. */
export function decodeFrame(frame: Buffer): { target: string; stamps: string; body: Buffer } {
  const ends = frameEnds(frame);
  return {
    target: frame.toString('utf8', 0, ends.target),
    stamps: frame.toString('latin1', ends.target + 1, ends.stamps),
    body: frame.subarray(ends.stamps + 1),
  };
}
