/** The load of a plan, and the outcome of each request in a simulated pipeline. */
import type { Run } from '../contract/run.ts';
import { mulberry32, normal } from './samples.ts';

type Phase = Run['run']['profile']['phases'][number];
type PlannedFlow = Run['run']['profile']['flows'][number];

export interface Plan {
  phases: Phase[];
  flows: PlannedFlow[];
  /** Capacity of the relay, messages/s. */
  capacity: number;
  /** Capacity of the ingest, requests/s; default: no limit. */
  ingestCapacity?: number;
  /** The share of measured requests that the ingest refuses, as fast as it answers. */
  refuses?: number;
  /** Messages claimed in this time (s) are lost. */
  lossBetween?: [number, number];
  /** A subscriber (0: the first of a topic) has no connection in this time (s); its messages arrive later. */
  gap?: { subscriber: number; from_s: number; to_s: number };
  /** The run ends at this time (s), with messages in flight. */
  cutAt?: number;
  /** Messages carry no stamps. */
  withoutStages?: boolean;
  /** Requests publish to the broker: only `schedule` and `delivery` take time. */
  direct?: boolean;
}

/** A duration for each stage, in order, ms. */
export type Stages = Record<'schedule' | 'request' | 'ingest' | 'queue' | 'relay' | 'delivery', number>;

export interface Delivery {
  phase: number;
  flow: number;
  arrivedAt: number;
  arrival: number;
  fromSend: number;
  stages: Stages;
}
export interface Message {
  intended: number;
  sentAt: number;
  acceptedAt: number;
  phase: number;
  flow: number;
  lost: boolean;
  rejected: boolean;
  deliveries: Delivery[];
}
export interface Request {
  intended: number;
  answeredAt: number;
  phase: number;
  http: number;
  messages: Message[];
}

/** Every request of the plan, with the outcome of its messages. */
export function offer(plan: Plan): Request[] {
  const pipeline = new Pipeline(plan);
  let begin = 0;
  return plan.phases.flatMap((phase, index) => {
    const start = begin;
    begin += phase.duration_s;
    return phase.vus === null ? open(pipeline, phase, index, start) : closed(pipeline, phase, index, start);
  });
}

/** Requests at the times of the profile. */
function open(pipeline: Pipeline, phase: Phase, index: number, begin: number): Request[] {
  const from = phase.arrival_rate ?? 0;
  const to = phase.ramp_to ?? from;
  const count = Math.round(((from + to) / 2) * phase.duration_s);
  return Array.from({ length: count }, (_, n) => {
    const load = (from + ((to - from) * n) / count) / 1500;
    return pipeline.take(begin + startOf(n, from, to, phase.duration_s), index, load, pipeline.lateness());
  });
}

/** Requests of VUs: each sends again after its last answer. */
function closed(pipeline: Pipeline, phase: Phase, index: number, begin: number): Request[] {
  const free = Array.from({ length: phase.vus ?? 0 }, (_, vu) => begin + vu * 1e-4);
  const requests: Request[] = [];
  while (free.length > 0) {
    const vu = free.indexOf(Math.min(...free));
    const intended = free[vu] as number;
    if (intended >= begin + phase.duration_s) break;
    const request = pipeline.take(intended, index, Math.min(1, free.length / 4), 0);
    requests.push(request);
    free[vu] = request.answeredAt + 5e-5;
  }
  return requests;
}

/** When the n-th request of a phase starts, s since the phase began: the area under the rate is n. */
function startOf(n: number, from: number, to: number, duration: number): number {
  const slope = (to - from) / duration;
  return slope === 0 ? n / from : (Math.sqrt(from * from + 2 * slope * n) - from) / slope;
}

/** A server with a queue; takes requests in the order of their due times. */
class Pipeline {
  #plan: Plan;
  #random = mulberry32(7);
  #refusals = mulberry32(13);
  #credit: number[];
  #ingestFree = 0;
  #relayFree = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#credit = plan.flows.map(() => 0);
  }

  /** The lateness of an open generator, ms. */
  lateness(): number {
    return this.#about(0.06, 0.4) + (this.#random() < 0.004 ? this.#about(1.2, 0.6) : 0);
  }

  /** @param load share of the nominal load */
  take(intended: number, phase: number, load: number, schedule: number): Request {
    const [planned, flow] = this.#flow();
    const sentAt = intended + schedule / 1e3;
    const { direct = false } = this.#plan;
    const request = direct ? 0 : this.#about(0.34 + 0.1 * load, 0.3) + this.#wait(sentAt);
    const ingest = direct ? 0 : this.#about(0.05, 0.3);
    const answer = this.#about(0.28 + 0.15 * load, 0.35);
    const queuedAt = sentAt + (request + ingest) / 1e3;
    const acceptedAt = queuedAt + answer / 1e3;
    const rejected =
      this.#plan.phases[phase]?.measured === true && this.#refusals() < (this.#plan.refuses ?? 0);
    const messages = Array.from({ length: planned.messages }, (): Message => {
      if (rejected)
        return { intended, sentAt, acceptedAt, phase, flow, lost: false, rejected, deliveries: [] };
      const queued = queuedAt + this.#about(0.3 + 0.5 * load * load, 0.45) / 1e3;
      this.#relayFree = Math.max(queued, this.#relayFree) + 1 / this.#plan.capacity;
      const claimedAt = direct ? queuedAt : this.#relayFree;
      const relay = direct ? 0 : this.#about(0.22 + 0.1 * load, 0.4);
      const [gone, back] = this.#plan.lossBetween ?? [0, 0];
      const lost = claimedAt >= gone && claimedAt < back;
      const deliveries = Array.from({ length: planned.deliveries }, (_, subscriber): Delivery => {
        const queue = (claimedAt - queuedAt) * 1e3;
        const delivery =
          this.#about(0.3 + 0.12 * load, 0.35) + (this.#random() < 0.002 ? this.#about(3, 0.5) : 0);
        const stages = { schedule, request, ingest, queue, relay, delivery };
        stages.delivery += this.#gap(subscriber, intended + sum(stages) / 1e3);
        const arrival = sum(stages);
        const arrivedAt = intended + arrival / 1e3;
        return { phase, flow, arrival, fromSend: arrival - schedule, arrivedAt, stages };
      });
      return { intended, sentAt, acceptedAt, phase, flow, lost, rejected, deliveries };
    });
    return { intended, answeredAt: acceptedAt, phase, http: request + ingest + answer, messages };
  }

  /** The next flow, by weighted round robin. */
  #flow(): [flow: PlannedFlow, index: number] {
    const { flows } = this.#plan;
    flows.forEach((flow, i) => {
      this.#credit[i] = (this.#credit[i] ?? 0) + flow.weight;
    });
    const index = this.#credit.indexOf(Math.max(...this.#credit));
    this.#credit[index] = (this.#credit[index] ?? 0) - flows.reduce((total, flow) => total + flow.weight, 0);
    return [flows[index] as PlannedFlow, index];
  }

  /** The wait for the ingest of a request at this time, ms. */
  #wait(at: number): number {
    const { ingestCapacity } = this.#plan;
    if (ingestCapacity === undefined) return 0;
    const begins = Math.max(at, this.#ingestFree);
    this.#ingestFree = begins + 1 / ingestCapacity;
    return (begins - at) * 1e3;
  }

  /** The wait for a subscriber to reconnect, ms. */
  #gap(subscriber: number, at: number): number {
    const { gap } = this.#plan;
    if (gap?.subscriber !== subscriber || at < gap.from_s || at >= gap.to_s) return 0;
    return (gap.to_s - at) * 1e3 + this.#about(2, 0.5);
  }

  #about(median: number, sigma: number): number {
    return median * Math.exp(sigma * normal(this.#random));
  }
}

function sum(stages: Stages): number {
  return Object.values(stages).reduce((total, ms) => total + ms, 0);
}
