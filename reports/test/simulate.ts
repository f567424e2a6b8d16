/** A small simulated pipeline: runs with plausible figures, the same at every call. */
import {
  type Flow,
  type Interval,
  type Latencies,
  type Resource,
  type Run,
  STAGES,
  type Stage,
  type Step,
} from '../run.ts';
import { average, brief, latency, mulberry32, normal, round } from './samples.ts';

type Phase = Run['run']['profile']['phases'][number];
type PlannedFlow = Run['run']['profile']['flows'][number];

export interface Plan {
  phases: Phase[];
  flows: PlannedFlow[];
  /** Messages/s that the relay can take. */
  capacity: number;
  /** Messages claimed in this time (s) vanish. */
  lossBetween?: [number, number];
  /** The run ends here (s), whatever is in flight. */
  cutAt?: number;
  /** Messages carry no stamps. */
  withoutStages?: boolean;
}

interface Delivery {
  phase: number;
  flow: number;
  arrivedAt: number;
  arrival: number;
  fromSend: number;
  stages: Record<Stage, number>;
}
interface Message {
  intended: number;
  sentAt: number;
  acceptedAt: number;
  phase: number;
  flow: number;
  lost: boolean;
  deliveries: Delivery[];
}
interface Request {
  intended: number;
  answeredAt: number;
  phase: number;
  http: number;
  messages: Message[];
}

export type Measured = Pick<Run, 'account' | 'latency' | 'steps' | 'flows' | 'timeline' | 'resources'>;

export function simulate(plan: Plan): Measured {
  const total = plan.phases.reduce((sum, phase) => sum + phase.duration_s, 0);
  const until = plan.cutAt ?? Number.POSITIVE_INFINITY;
  const requests = offer(plan).filter((request) => request.intended < until);
  const messages = requests.flatMap((request) => request.messages);
  const made = (message: Message) => message.deliveries.filter((d) => d.arrivedAt < until && !message.lost);
  const deliveries = messages.flatMap(made);
  const end = Math.min(until, Math.max(total, ...latest(deliveries)));
  const due = messages.reduce((sum, message) => sum + message.deliveries.length, 0);
  const lost = messages.filter((message) => message.lost).length;
  const arrived = messages.filter((m) => !m.lost && made(m).length === m.deliveries.length).length;

  const latencies = (wanted: (phase: number) => boolean): Latencies => {
    const chosen = deliveries.filter((d) => wanted(d.phase));
    const of = (stage: Stage) => latency(plan.withoutStages ? [] : chosen.map((d) => d.stages[stage]));
    return {
      arrival: latency(chosen.map((d) => d.arrival)),
      from_send: latency(chosen.map((d) => d.fromSend)),
      http: latency(requests.filter((r) => wanted(r.phase) && r.answeredAt < until).map((r) => r.http)),
      stages: Object.fromEntries(STAGES.map((stage) => [stage, of(stage)])) as Latencies['stages'],
    };
  };
  const measured = (phase: number) => plan.phases[phase]?.measured === true;

  let start = 0;
  const steps = plan.phases.flatMap((phase, index): Step[] => {
    const start_s = start;
    start += phase.duration_s;
    const duration_s = Math.min(phase.duration_s, end - start_s);
    if (duration_s <= 0) return [];
    const mine = messages.filter((message) => message.phase === index);
    const accepted = mine.filter((message) => message.acceptedAt < until).length;
    const there = deliveries.filter((d) => d.phase === index).length;
    return [
      {
        name: phase.name,
        start_s,
        duration_s,
        measured: phase.measured,
        requests: requests.filter((request) => request.phase === index).length,
        scheduled: mine.length,
        accepted,
        arrived: there,
        scheduled_per_s: round(mine.length / duration_s),
        accepted_per_s: round(accepted / duration_s),
        arrived_per_s: round(there / duration_s),
        latency: latencies((p) => p === index),
      },
    ];
  });
  const flows = plan.flows.map((flow, index): Flow => {
    const mine = deliveries.filter((d) => d.flow === index);
    return {
      name: flow.name,
      scheduled: messages.filter((message) => message.flow === index).length,
      arrived: mine.length,
      arrival: latency(mine.filter((d) => measured(d.phase)).map((d) => d.arrival)),
    };
  });
  const timeline = seconds(plan, requests, deliveries, end);
  return {
    account: {
      scheduled: messages.length,
      dropped: 0,
      rejected: 0,
      unknown: 0,
      arrived,
      dead_lettered: 0,
      queued: 0,
      lost,
      pending: messages.length - arrived - lost,
      balanced: true,
      duplicates: 0,
      reordered: 0,
      negative: 0,
      foreign: 0,
      requests: { scheduled: requests.length, sent: requests.length },
      deliveries: { due, arrived: deliveries.length, missing: due - deliveries.length },
    },
    latency: latencies(measured),
    steps,
    flows,
    timeline,
    resources: resources(timeline),
  };
}

/** Every request of the plan, with what becomes of its messages. */
function offer(plan: Plan): Request[] {
  const random = mulberry32(7);
  const about = (median: number, sigma: number) => median * Math.exp(sigma * normal(random));
  const credit = plan.flows.map(() => 0);
  const weights = plan.flows.reduce((sum, flow) => sum + flow.weight, 0);
  const requests: Request[] = [];
  let relayFree = 0;
  let begin = 0;
  for (const [phase, { duration_s, arrival_rate, ramp_to }] of plan.phases.entries()) {
    const from = arrival_rate ?? 0;
    const to = ramp_to ?? from;
    const count = Math.round(((from + to) / 2) * duration_s);
    for (let n = 0; n < count; n++) {
      const intended = begin + startOf(n, from, to, duration_s);
      const load = (from + ((to - from) * n) / count) / 1500;
      plan.flows.forEach((f, i) => {
        credit[i] = (credit[i] ?? 0) + f.weight;
      });
      const flow = credit.indexOf(Math.max(...credit));
      credit[flow] = (credit[flow] ?? 0) - weights;
      const planned = plan.flows[flow] as PlannedFlow;

      const schedule = about(0.06, 0.4) + (random() < 0.004 ? about(1.2, 0.6) : 0);
      const request = about(0.34 + 0.1 * load, 0.3);
      const ingest = about(0.05, 0.3);
      const answer = about(0.28 + 0.15 * load, 0.35);
      const sentAt = intended + schedule / 1e3;
      const queuedAt = sentAt + (request + ingest) / 1e3;
      const acceptedAt = queuedAt + answer / 1e3;
      const messages = Array.from({ length: planned.messages }, (): Message => {
        relayFree =
          Math.max(queuedAt + about(0.3 + 0.5 * load * load, 0.45) / 1e3, relayFree) + 1 / plan.capacity;
        const claimedAt = relayFree;
        const relay = about(0.22 + 0.1 * load, 0.4);
        const [gone, back] = plan.lossBetween ?? [0, 0];
        const lost = claimedAt >= gone && claimedAt < back;
        const deliveries = Array.from({ length: planned.deliveries }, (): Delivery => {
          const stages = {
            schedule,
            request,
            ingest,
            queue: (claimedAt - queuedAt) * 1e3,
            relay,
            delivery: about(0.3 + 0.12 * load, 0.35) + (random() < 0.002 ? about(3, 0.5) : 0),
          };
          const arrival = STAGES.reduce((sum, stage) => sum + stages[stage], 0);
          return {
            phase,
            flow,
            arrival,
            fromSend: arrival - schedule,
            arrivedAt: intended + arrival / 1e3,
            stages,
          };
        });
        return { intended, sentAt, acceptedAt, phase, flow, lost, deliveries };
      });
      requests.push({ intended, answeredAt: acceptedAt, phase, http: request + ingest + answer, messages });
    }
    begin += duration_s;
  }
  return requests;
}

/** Start of the n-th request of a phase, s since its begin: the area under the rate reaches n. */
function startOf(n: number, from: number, to: number, duration: number): number {
  const slope = (to - from) / duration;
  return slope === 0 ? n / from : (Math.sqrt(from * from + 2 * slope * n) - from) / slope;
}

function seconds(plan: Plan, requests: Request[], deliveries: Delivery[], end: number): Interval[] {
  let owed = 0;
  let start = 0;
  const ends = plan.phases.map((phase) => (start += phase.duration_s));
  const messages = requests.flatMap((request) => request.messages);
  return Array.from({ length: Math.ceil(end) }, (_, t) => {
    const within = (at: number) => at >= t && at < Math.min(t + 1, end);
    const here = deliveries.filter((d) => within(d.arrivedAt));
    const accepted = messages.filter((m) => within(m.acceptedAt));
    const scheduled = messages.filter((m) => within(m.intended)).length;
    owed += accepted.reduce((sum, m) => sum + m.deliveries.length, 0) - here.length;
    const [cpu_percent, rss_mb] = usage(t, scheduled, PROCESSES[0]);
    const mean = (stage: Stage) => round(average(here.map((d) => d.stages[stage])));
    return {
      t,
      phase: plan.phases[ends.findIndex((e) => t < e)]?.name ?? null,
      requests: requests.filter((r) => within(r.intended)).length,
      scheduled,
      sent: messages.filter((m) => within(m.sentAt)).length,
      accepted: accepted.length,
      rejected: 0,
      failed: 0,
      arrived: here.length,
      backlog: owed,
      arrival: brief(here.map((d) => d.arrival)),
      from_send: brief(here.map((d) => d.fromSend)),
      http: brief(requests.filter((r) => within(r.answeredAt)).map((r) => r.http)),
      stages:
        plan.withoutStages || here.length === 0
          ? null
          : (Object.fromEntries(STAGES.map((stage) => [stage, mean(stage)])) as Record<Stage, number>),
      generator: { cpu_percent, rss_mb },
    };
  });
}

/** Name, CPU % when idle, CPU % per message/s, MB at the start. */
const PROCESSES = [
  ['k6', 6, 0.0118, 96],
  ['ingest-1', 2, 0.0131, 88],
  ['relay-1', 1.5, 0.0092, 81],
  ['redis', 0.8, 0.0038, 11],
  ['mosquitto', 0.5, 0.0061, 8],
] as const;

/** CPU in % and memory in MB of a process in second t. */
function usage(
  t: number,
  rate: number,
  [, idle, perMessage, rss]: (typeof PROCESSES)[number],
): [number, number] {
  return [round(idle + rate * perMessage + ((t * 7) % 4) * 0.3, 1), round(rss + t * 0.2, 1)];
}

function resources(timeline: Interval[]): Resource[] {
  return PROCESSES.map((process) => {
    const series = timeline.map(({ t, scheduled }): [number, number, number] => [
      t,
      ...usage(t, scheduled, process),
    ]);
    const extent = (column: 1 | 2) => ({
      mean: series.length ? round(average(series.map((row) => row[column])), 1) : null,
      max: series.length ? Math.max(...series.map((row) => row[column])) : null,
    });
    return { process: process[0], cpu_percent: extent(1), rss_mb: extent(2), series };
  });
}

/** The last arrival, if there is one. */
function latest(deliveries: Delivery[]): number[] {
  return deliveries.length ? [deliveries.reduce((last, d) => Math.max(last, d.arrivedAt), 0)] : [];
}
