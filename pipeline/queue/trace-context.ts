/**
 * The W3C trace context of a message (https://www.w3.org/TR/trace-context/), as its client sent it: from the header fields
 * `traceparent` and `tracestate` through the frame to MQTT 5 user properties of the same names.
 */

/** A traceparent of a version above 00 may be longer (3.2.4). */
const TRACEPARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-[\x21-\x7e]{0,200})?$/;
/** Its longest form is what everybody should pass on (3.3.1.5): each message of a batch holds a copy. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** `<traceparent>` or `<traceparent> <tracestate>`; empty: the request has none that is valid. */
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
