/** run.json of a run, as it stands. */
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { latencyOf } from '../../reports/latency.ts';
import { type Clock, type Latencies, type Run, STAGES } from '../../reports/run.ts';
import type { Ledger } from './ledger.ts';
import type { Times } from './measures.ts';
import type { Options } from './options.ts';
import type { PhaseEnd } from './phases.ts';
import type { Pipeline } from './pipeline.ts';
import type { Schedule } from './schedule.ts';
import type { Series } from './series.ts';
import { judge } from './verdict.ts';

/** Which run it is. */
export interface Identity {
  id: string;
  name: string;
  method: string;
  version: string;
  command: string;
}

export interface Findings {
  identity: Identity;
  options: Options;
  pipeline: Pipeline;
  schedule: Schedule;
  ledger: Ledger;
  /** µs on the run's clock */
  epoch: number;
  now: number;
  ended: boolean;
  clock: Clock;
  gaps: Run['health']['gaps'];
  timeline: Run['timeline'];
  resources: Run['resources'];
  errors: Run['errors'];
  canary: { sent: number; series: Series } | undefined;
  /** Of each phase that is over. */
  ends: PhaseEnd[];
  doubts: string[];
}

export function runOf(f: Findings): Run {
  const { identity, options, pipeline, schedule, ledger } = f;
  const lost = new Map<string, number>();
  const account = ledger.account(f.ended, lost);
  const { lateness: late, measured } = ledger.measures;
  const latency = latenciesOf(measured);
  const lateness = late.count > 0 ? latencyOf(late) : null;
  const cores = cpus().length;
  const at = (us: number) => new Date(us / 1000).toISOString();
  return {
    schema: 'arrival/run/1',
    run: {
      id: identity.id,
      name: identity.name,
      tool: { name: 'artillery', version: identity.version },
      method: identity.method,
      model: schedule.closed ? 'closed' : 'open',
      topology: pipeline.topology,
      network: pipeline.network,
      labels: pipeline.labels,
      started: at(f.epoch),
      ended: f.ended ? at(f.now) : null,
      command: identity.command,
      profile: {
        name: options.profile,
        phases: schedule.phases.map(({ name, duration, rate, rampTo, measured, vus }) => ({
          name,
          duration_s: duration,
          arrival_rate: schedule.closed ? null : rate,
          ramp_to: rampTo === rate ? null : rampTo,
          vus: vus ?? null,
          measured,
        })),
        flows: schedule.flows.map(({ name, weight, messages, deliveries, payloadBytes }) => ({
          name,
          weight,
          messages,
          deliveries,
          payload_bytes: payloadBytes,
        })),
      },
    },
    verdict: judge({ ...f, account, latency, lateness, cores, qos: options.qos }),
    account,
    clock: f.clock,
    health: {
      lateness,
      // Node does not tell when the kernel had the bytes, nor how long they lay in a socket.
      arrival_stamps: { kernel: 0, read: latency.arrival.count },
      socket_wait: null,
      gaps: f.gaps,
      samples_discarded: 0,
      trend_one_in: 1,
    },
    latency,
    canary: f.canary
      ? {
          sent: f.canary.sent,
          arrived: f.canary.series.count,
          interval_s: 1,
          latency: latencyOf(f.canary.series),
        }
      : null,
    steps: f.timeline.length === 0 ? [] : stepsOf(f),
    figures: [],
    flows: flowsOf(f),
    targets: f.ended ? ledger.targets.told(lost) : null,
    timeline: f.timeline,
    resources: f.resources,
    errors: f.errors,
    environment: {
      cpu: cpus()[0]?.model ?? null,
      cores,
      memory_mb: Math.floor(totalmem() / 1e6),
      kernel: release(),
      os: platform(),
      arch: arch(),
      go: null,
      node: process.version,
      shared_host: pipeline.sharedHost,
      pipeline: pipeline.facts,
    },
  };
}

export function latenciesOf(times: Times): Latencies {
  return {
    arrival: latencyOf(times.arrival),
    from_send: latencyOf(times.from_send),
    http: latencyOf(times.http),
    stages: Object.fromEntries(
      STAGES.map((stage, i) => [stage, latencyOf(times.stages[i] as Series)]),
    ) as Latencies['stages'],
  };
}

/** The requests that the run came to. */
function reached({ schedule, epoch, now, ended }: Findings): number {
  return ended || schedule.closed ? schedule.requests : schedule.dueBefore((now - epoch) / 1e6);
}

/** The phases that have begun. */
function stepsOf(f: Findings): Run['steps'] {
  const { schedule, ledger, epoch, now, ends, resources } = f;
  const ran = (now - epoch) / 1e6;
  return schedule.phases.flatMap(({ name, measured, vus }, i) => {
    const span = schedule.span(i, ran);
    if (span === undefined) return [];
    const { start } = span;
    const length = Math.max(0.001, span.length);
    const times = ledger.measures.phases[i] as Times;
    const [from, end] = schedule.phaseRequests(i);
    const to = Math.min(end, reached(f));
    const scheduled = schedule.messages(to) - schedule.messages(from);
    const { messages: accepted, due } = ledger.accepted(i);
    const arrived = times.arrival.count;
    return [
      {
        name,
        start_s: start,
        duration_s: length,
        vus: vus ?? null,
        measured,
        requests: to - from,
        scheduled,
        accepted,
        due,
        arrived,
        scheduled_per_s: scheduled / length,
        accepted_per_s: accepted / length,
        arrived_per_s: arrived / length,
        backlog: ends[i]?.backlog ?? null,
        drained_s: ends[i]?.drained ?? null,
        cpu_percent: cpuBetween(resources, start, start + length),
        latency: latenciesOf(times),
      },
    ];
  });
}

function cpuBetween(resources: Run['resources'], from: number, to: number): Record<string, number> | null {
  const used = resources.flatMap(({ process, series }) => {
    const told = series.flatMap(([t, cpu]) => (cpu !== null && t >= from && t < to ? [cpu] : []));
    return told.length === 0 ? [] : [[process, told.reduce((a, b) => a + b, 0) / told.length]];
  });
  return used.length === 0 ? null : Object.fromEntries(used);
}

/** Measured phases only. */
function flowsOf(f: Findings): Run['flows'] {
  const { schedule, ledger } = f;
  const scheduled = schedule.flows.map(() => 0);
  schedule.phases.forEach(({ measured }, i) => {
    const [from, end] = schedule.phaseRequests(i);
    const to = Math.min(end, reached(f));
    for (let n = from; measured && n < to; n++) {
      const { flow, messages } = schedule.slot(n);
      scheduled[flow] = (scheduled[flow] as number) + messages;
    }
  });
  return schedule.flows.map(({ name }, i) => {
    const arrival = latencyOf(ledger.measures.flows[i] as Series);
    return { name, scheduled: scheduled[i] as number, arrived: arrival.count, arrival };
  });
}
