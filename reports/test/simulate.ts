/** A small simulated pipeline: plausible figures, identical at every call. */
import {
  COUNTS,
  type Count,
  type Flow,
  type Interval,
  type Latencies,
  type Resource,
  type Run,
  STAGES,
  type Step,
} from '../contract/run.ts';
import { type Delivery, type Message, offer, type Plan, type Request } from './offer.ts';
import { average, bins, brief, latency, mulberry32, normal, round } from './samples.ts';
import { targets } from './targets.ts';

export type Measured = Pick<
  Run,
  | 'account'
  | 'health'
  | 'latency'
  | 'arrival_bins'
  | 'canary'
  | 'steps'
  | 'flows'
  | 'targets'
  | 'timeline'
  | 'resources'
>;

export function simulate(plan: Plan): Measured {
  const total = plan.phases.reduce((sum, phase) => sum + phase.duration_s, 0);
  const until = plan.cutAt ?? Number.POSITIVE_INFINITY;
  const requests = offer(plan).filter((request) => request.intended < until);
  const messages = requests.flatMap((request) => request.messages);
  const delivered = (message: Message) =>
    message.deliveries.filter((d) => d.arrivedAt < until && !message.lost);
  const deliveries = messages.flatMap(delivered);
  const end = Math.min(until, Math.max(total, ...latest(deliveries)));
  const due = messages.reduce((sum, message) => sum + message.deliveries.length, 0);
  const lost = messages.filter((message) => message.lost).length;
  const rejected = messages.filter((message) => message.rejected).length;
  const rejectedRequests = requests.filter((request) => request.messages.some((m) => m.rejected)).length;
  const arrived = messages.filter(
    (m) => !m.lost && !m.rejected && delivered(m).length === m.deliveries.length,
  ).length;

  const latencies = (wanted: (phase: number) => boolean): Latencies => {
    const chosen = deliveries.filter((d) => wanted(d.phase));
    const of = (stage: string) =>
      latency(
        plan.withoutStages && stage !== 'schedule'
          ? []
          : chosen.map((d) => (d.stages as Record<string, number>)[stage] ?? 0),
      );
    return {
      arrival: latency(chosen.map((d) => d.arrival)),
      from_send: latency(chosen.map((d) => d.fromSend)),
      http: latency(requests.filter((r) => wanted(r.phase) && r.answeredAt < until).map((r) => r.http)),
      stages: Object.fromEntries(STAGES.map((stage) => [stage, of(stage)])) as Latencies['stages'],
    };
  };
  const measured = (phase: number) => plan.phases[phase]?.measured === true;

  const lateness = latency(
    messages
      .filter(({ phase }) => measured(phase))
      .flatMap((m) => m.deliveries.map((d) => d.stages.schedule)),
  );

  let start = 0;
  const steps = plan.phases.flatMap((phase, index): Step[] => {
    const start_s = start;
    start += phase.duration_s;
    const duration_s = Math.min(phase.duration_s, end - start_s);
    if (duration_s <= 0) return [];
    const mine = messages.filter((message) => message.phase === index);
    const accepted = mine.filter((message) => message.acceptedAt < until && !message.rejected);
    const arrivals = deliveries.filter((d) => d.phase === index).length;
    return [
      {
        name: phase.name,
        start_s,
        duration_s,
        vus: phase.vus,
        measured: phase.measured,
        requests: requests.filter((request) => request.phase === index).length,
        scheduled: mine.length,
        accepted: accepted.length,
        taken: accepted.length,
        due: accepted.reduce((sum, message) => sum + message.deliveries.length, 0),
        arrived: arrivals,
        scheduled_per_s: round(mine.length / duration_s),
        accepted_per_s: round(accepted.length / duration_s),
        carried_per_s: 0, // Go sets it, like the answer
        arrived_per_s: round(arrivals / duration_s),
        ...{ offered_per_s: null, backlog: null, arrived_99_s: null, drained_s: null, cpu_percent: null },
        sampled: null,
        latency: latencies((p) => p === index),
      },
    ];
  });
  const flows = plan.flows.map((flow, index): Flow => {
    const mine = deliveries.filter((d) => d.flow === index && measured(d.phase));
    return {
      name: flow.name,
      scheduled: messages.filter((m) => m.flow === index && measured(m.phase)).length,
      arrived: mine.length,
      arrival: latency(mine.map((d) => d.arrival)),
      ...(!plan.withoutStages && mine.length > 0 && { stamped: mine.length, stages: means(mine) }),
    };
  });
  const flights = canaryFlights(requests, Math.min(total, until));
  const landed = flights.filter((flight) => flight.due + flight.ms / 1e3 < until);
  const timeline = seconds(plan, requests, deliveries, landed, end, (message) =>
    measured(message.phase) ? delivered(message).map(({ arrival }) => arrival) : [],
  );
  const arrival_bins = bins(deliveries.filter(({ phase }) => measured(phase)).map(({ arrival }) => arrival));
  return {
    account: {
      ...NO_COUNTS,
      scheduled: messages.length,
      rejected,
      arrived,
      lost,
      pending: messages.length - arrived - lost - rejected,
      balanced: true,
      requests: { scheduled: requests.length, sent: requests.length, retried: 0, failed: rejectedRequests },
      deliveries: { due, arrived: deliveries.length, missing: due - deliveries.length },
    },
    health: {
      lateness: lateness.count > 0 && plan.phases[0]?.vus === null ? lateness : null,
      arrival_stamps: { kernel: deliveries.filter(({ phase }) => measured(phase)).length, read: 0 },
      socket_wait: latency(deliveries.map(({ stages }) => Math.min(stages.delivery, 5) * 0.04)),
      gaps: plan.gap ? [{ ...plan.gap, reason: 'the broker closed the connection' }] : [],
      samples_discarded: 0,
      trend_one_in: 1,
    },
    latency: latencies(measured),
    ...(arrival_bins && { arrival_bins }),
    canary: {
      sent: flights.length,
      arrived: landed.length,
      interval_s: 1,
      latency: latency(landed.map(({ ms }) => ms)),
    },
    steps,
    flows,
    targets: plan.cutAt === undefined ? targets(plan, messages, measured) : null,
    timeline,
    resources: resources(timeline),
  };
}

/** An account of nothing. */
const NO_COUNTS = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<Count, number>;

interface Flight {
  /** s since the start of the run. */
  due: number;
  ms: number;
}

/** The canary: a message a second on its own connection, with the waits of the load. */
function canaryFlights(requests: Request[], until: number): Flight[] {
  const random = mulberry32(11);
  return Array.from({ length: Math.max(0, Math.ceil(until - 0.5)) }, (_, t): Flight => {
    const due = t + 0.5;
    const beside = requests.findLast((request) => request.intended <= due)?.messages[0]?.deliveries[0];
    const { request, queue } = beside?.stages ?? { request: 0, queue: 0 };
    return { due, ms: round(1.1 * Math.exp(0.2 * normal(random)) + request + queue, 3) };
  });
}

function seconds(
  plan: Plan,
  requests: Request[],
  deliveries: Delivery[],
  landed: Flight[],
  end: number,
  latencies: (message: Message) => number[],
): Interval[] {
  let backlog = 0;
  let in_flight = 0;
  let start = 0;
  const ends = plan.phases.map((phase) => (start += phase.duration_s));
  const messages = requests.flatMap((request) => request.messages);
  const open = plan.phases.every(({ vus }) => vus === null);
  return Array.from({ length: Math.ceil(end) }, (_, t) => {
    const within = (at: number) => at >= t && at < Math.min(t + 1, end);
    const arrivals = deliveries.filter((d) => within(d.arrivedAt));
    const [rejected, accepted] = [true, false].map((is) =>
      messages.filter((m) => within(m.acceptedAt) && m.rejected === is),
    ) as [Message[], Message[]];
    const scheduled = messages.filter((m) => within(m.intended)).length;
    const sent = messages.filter((m) => within(m.sentAt));
    in_flight += sent.length - accepted.length - rejected.length;
    const due = accepted.reduce((sum, m) => sum + m.deliveries.length, 0);
    backlog += due - arrivals.length;
    const late = open ? messages.filter((m) => within(m.intended)).map((m) => m.sentAt - m.intended) : [];
    const [cpu_percent, rss_mb] = usage(t, scheduled, PROCESSES[0]);
    const due_bins = bins(messages.filter((m) => within(m.intended)).flatMap(latencies));
    return {
      t,
      phase: plan.phases[ends.findIndex((e) => t < e)]?.name ?? null,
      requests: requests.filter((r) => within(r.intended)).length,
      scheduled,
      sent: sent.length,
      accepted: accepted.length,
      rejected: rejected.length,
      failed: 0,
      arrived: arrivals.length,
      arrived_bytes: arrivals.length * PAYLOAD,
      backlog,
      due,
      in_flight,
      arrival: brief(arrivals.map((d) => d.arrival)),
      from_send: brief(arrivals.map((d) => d.fromSend)),
      http: brief(requests.filter((r) => within(r.answeredAt)).map((r) => r.http)),
      arrival_bins: bins(arrivals.map((d) => d.arrival)),
      ...(due_bins && { due_bins }),
      ...(plan.withoutStages || arrivals.length === 0
        ? { stages: null }
        : { stages: means(arrivals), stamped: arrivals.length }),
      canary_ms: landed.find(({ due }) => within(due))?.ms ?? null,
      late_max_ms: late.length > 0 ? round(1e3 * Math.max(...late), 3) : null,
      generator: { cpu_percent, rss_mb },
    };
  });
}

/** Bytes of a message. */
const PAYLOAD = 163;

/** The mean of each stage. */
function means(deliveries: { stages: object }[]): Record<string, number> {
  const mean = (stage: string) =>
    round(average(deliveries.map(({ stages }) => (stages as Record<string, number>)[stage] ?? 0)));
  return Object.fromEntries(STAGES.map((stage) => [stage, mean(stage)]));
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
  const used = PROCESSES.map((process) => {
    const series = timeline.map(({ t, scheduled }): [number, number, number] => [
      t,
      ...usage(t, scheduled, process),
    ]);
    const extent = (column: 1 | 2) => ({
      mean: series.length ? round(average(series.map((row) => row[column])), 1) : null,
      max: series.length ? Math.max(...series.map((row) => row[column])) : null,
    });
    return { process: process[0], cpu_percent: extent(1), rss_mb: extent(2), series, figures: null };
  });
  return timeline.length ? [...used, host(timeline)] : used;
}

/** What vmstat would report for a host of 2 cores. */
function host(timeline: Interval[]): Resource {
  const none = { mean: null, max: null };
  const busy = timeline.map(({ scheduled }) => Math.min(96, 4 + scheduled * 0.028));
  const gauge = (of: (busy: number) => number) => busy.map((percent) => round(of(percent), 1));
  return {
    process: 'host',
    cpu_percent: none,
    rss_mb: none,
    series: [],
    figures: {
      bin_s: 1,
      t: timeline.map(({ t }) => t),
      gauges: {
        in: gauge((percent) => 900 + percent * 210),
        cs: gauge((percent) => 1500 + percent * 420),
        us: gauge((percent) => percent * 0.6),
        sy: gauge((percent) => percent * 0.4),
        id: gauge((percent) => 100 - percent),
        wa: gauge(() => 0),
        st: gauge(() => 0),
        free_mb: gauge(() => 21_000),
        si: gauge(() => 0),
        so: gauge(() => 0),
      },
      counts: { messages: timeline.map(({ accepted }) => accepted) },
    },
  };
}

/** The last arrival, if there is one. */
function latest(deliveries: Delivery[]): number[] {
  return deliveries.length ? [deliveries.reduce((last, d) => Math.max(last, d.arrivedAt), 0)] : [];
}
