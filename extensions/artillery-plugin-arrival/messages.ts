/** Messages with their ids, `<run>.<generator>.<number>`, and the topics they arrive on. */
import type { Flow, Schedule, Slot } from './schedule.ts';

/** The one generator of a run: one thread of Artillery. */
export const GENERATOR = 1;

/** `{"meta":{"id":…}}` for `meta.id`. */
function withId(key: string, id: string): Record<string, unknown> {
  const path = key.split('.');
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), id) as Record<string, unknown>;
}

/**
 * The body of a request: a message, or an array of them.
 * @param further fields of every message that the script gives, like a payload
 */
export function bodyOf(run: string, key: string, flow: Flow, slot: Slot, further: object = {}): object {
  const messages = Array.from({ length: slot.messages }, (_, i) => ({
    payload: 'x'.repeat(flow.payloadBytes),
    ...further,
    ...withId(key, `${run}.${GENERATOR}.${slot.firstSeq + i}`),
    source: 'artillery',
    target: nameOf(flow, slot, slot.firstSeq + i),
  }));
  return slot.messages === 1 ? (messages[0] as object) : messages;
}

export function canaryOf(run: string, key: string, n: number): object {
  return { ...withId(key, `${run}.canary.${n}`), source: 'artillery', target: `canary/${run}`, payload: '' };
}

/**
 * Finds the number of a message in it. The run's name is random, so where `"<prefix>.` stands the id stands, whatever its
 * key is: nothing needs to be parsed.
 * @param prefix `<run>.<generator>`
 */
export function numberOf(payload: Buffer, prefix: string): number | undefined {
  const mark = `"${prefix}.`;
  const at = payload.indexOf(mark);
  if (at < 0) return undefined;
  const [, digits] =
    /^(\d{1,12})"/.exec(payload.toString('latin1', at + mark.length, at + mark.length + 13)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * The topics of each subscriber. Target i of a flow with d deliveries is held by the subscribers i, i + 1, … i + d − 1, so each
 * message is due at exactly d of them.
 */
export function topicsOf(schedule: Schedule, prefix: string): string[][] {
  const held = Array.from({ length: subscribersOf(schedule) }, () => new Set<string>());
  for (const { target, targets, deliveries } of schedule.flows) {
    for (let i = 0; i < targets; i++) {
      for (let d = 0; d < deliveries; d++) held[(i + d) % held.length]?.add(`${prefix}${target}/${i}`);
    }
  }
  return held.map((topics) => [...topics]);
}

export function subscribersOf(schedule: Schedule): number {
  return Math.max(1, ...schedule.flows.map(({ deliveries }) => deliveries));
}

/** A message's target: `<target>/<number>`. */
export function nameOf({ target, targets }: Flow, { ofFlow, firstSeq }: Slot, seq: number): string {
  return `${target}/${(ofFlow + seq - firstSeq) % targets}`;
}
