/** The targets of a simulated run. */
import type { Targets } from '../contract/run.ts';
import type { Message, Plan } from './offer.ts';
import { brief } from './samples.ts';

/** Targets of a flow, which its messages take in turn. */
const TARGETS = 8;

/** @param measured whether a phase is measured */
export function targets(plan: Plan, messages: Message[], measured: (phase: number) => boolean): Targets {
  const rows = plan.flows.flatMap(({ name }, flow) => {
    const mine = messages.filter((message) => message.flow === flow);
    return Array.from({ length: TARGETS }, (_, target) => {
      const own = mine.filter((_, i) => i % TARGETS === target);
      const arrived = own.filter(({ lost, phase }) => !lost && measured(phase));
      return {
        name: `${name}/${target}`,
        arrival: brief(arrived.flatMap(({ deliveries }) => deliveries.map(({ arrival }) => arrival))),
        reordered: 0,
        lost: own.filter(({ lost }) => lost).length,
      };
    });
  });
  const p99 = ({ arrival }: (typeof rows)[number]) =>
    arrival !== null && arrival.count >= 100 ? (arrival.p99 ?? 0) : 0;
  rows.sort((a, b) => p99(b) - p99(a));
  return { total: rows.length, rows, others: null };
}
