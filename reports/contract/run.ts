/** The data of a report, as in run.schema.json: what is absent is null, latencies are in ms. */

/** The six stages of a delivery, in the order of its way; per delivery they add up to arrival. */
export const STAGES = ['schedule', 'request', 'ingest', 'queue', 'relay', 'delivery'] as const;
export type Stage = (typeof STAGES)[number];

/** The ends of an id: scheduled is their sum. */
export const ENDS = [
  'dropped',
  'rejected',
  'unknown',
  'arrived',
  'dead_lettered',
  'queued',
  'lost',
  'pending',
] as const;
export type End = (typeof ENDS)[number];

export type VerdictResult = 'pass' | 'fail' | 'invalid' | 'incomplete';

export interface Run {
  schema: 'arrival/run/1';
  run: RunInfo;
  verdict: Verdict;
  account: Account;
  clock: Clock | null;
  health: Health;
  /** Measured phases only. */
  latency: Latencies;
  canary: Canary | null;
  /** Of a merged run: one of each instance that it should have; absent: the run has one. */
  generators?: GeneratorResult[];
  /** Of the measured phases; null: not asked for. */
  sampled?: Sampled | null;
  /** The phases that were reached: the profile's first ones. */
  steps: Step[];
  /** Where a sweep turns; null: it is none, or does not; absent: of an earlier version. */
  knee?: Knee | null;
  /** What the script says beyond what every run says; a value of null did not come about. */
  figures?: ScriptFigure[];
  flows: Flow[];
  /** null or absent: the run has not ended. */
  targets?: Targets | null;
  /** One entry a second, ascending. */
  timeline: Interval[];
  resources: Resource[];
  /** Of an earlier version, which had no rules. */
  thresholds?: { metric: string; expression: string; ok: boolean | null }[];
  errors: { stage: string; class: string; count: number; example: string | null }[];
  environment: Environment;
}

/** Made by extensions/k6/internal/judge alone. */
export interface Verdict {
  result: VerdictResult;
  /** Plain sentences. */
  reasons: string[];
  /** Every limit and what was measured; absent: of an earlier version. See rules.ts. */
  rules?: Rule[];
  /** Latencies that can be trusted though the result is invalid. */
  stands?: 'http'[];
}

/** A limit, what was measured, and whether it held. Without a limit it is a fact that is so or not. */
export interface Rule {
  /** Of the figure; that of a threshold is its metric and, but for a value or a count, the aggregation. */
  name: string;
  value: number | null;
  /** How value is to be to limit. */
  op: string;
  limit: number | null;
  unit: string;
  /** null: not judged. */
  ok: boolean | null;
  /** What the run is if the rule does not hold. */
  result: VerdictResult;
  /** What the limit is made of; empty: it was set as it is. */
  basis: string;
  /** Why it does not hold; empty: it does, or another reason says it. */
  reason: string;
  /** Of a merged run: whose it is. */
  generator?: number;
}

export interface RunInfo {
  id: string;
  name: string;
  tool: { name: string; version: string | null };
  method: string;
  /** Of the requests, as labels have it; absent, in an earlier version: HTTP. */
  protocol?: string;
  /** closed: a message is due when it is sent. */
  model: 'open' | 'closed';
  topology: string;
  network: string;
  labels: Record<string, string>;
  /** RFC 3339. */
  started: string;
  ended: string | null;
  command: string | null;
  /** Of several instances that do a run together; null or absent: the run has one. */
  generator?: Generator | null;
  profile: {
    name: string;
    phases: {
      name: string;
      duration_s: number;
      /** Requests/s; null in the closed model. */
      arrival_rate: number | null;
      ramp_to: number | null;
      /** Concurrency of the closed model; null in the open one. */
      vus: number | null;
      measured: boolean;
    }[];
    flows: { name: string; weight: number; messages: number; deliveries: number; payload_bytes?: number }[];
  };
}

/** One of several instances that do a run together, each a segment of it. */
export interface Generator {
  /** In the ids of its messages, from 1. */
  number: number;
  of: number;
  /** k6's execution segment, and the sequence of all. */
  segment: string;
  sequence: string;
  /** Start of all of them on the clock of Redis, µs since 1970. */
  start_us: number;
  /** How long after the start it was there, ms. */
  late_ms: number;
}

/** What one of several instances adds to their run. null: it is missing, or does not tell. */
export interface GeneratorResult {
  number: number;
  segment: string;
  result: VerdictResult | 'missing';
  reasons: string[];
  late_ms: number | null;
  /** Messages. */
  scheduled: number | null;
  arrived: number | null;
  schedule_p99_ms: number | null;
  socket_wait_p99_ms: number | null;
  /** That it may use. Absent: of an earlier version. */
  cores?: number | null;
  kernel?: string | null;
  /** 100 = one core. */
  cpu_percent_max: number | null;
  clock_offset_ms: number | null;
  clock_bound_ms: number | null;
}

/** Ids, whole run; the four beside the equation are deliveries. */
export interface Account extends Record<End, number> {
  scheduled: number;
  balanced: boolean;
  duplicates: number;
  reordered: number;
  negative: number;
  foreign: number;
  /** retried: POSTs repeated with the same id. */
  requests: { scheduled: number; sent: number; retried: number };
  deliveries: { due: number; arrived: number; missing: number };
}

export interface Clock {
  reference: 'redis TIME' | 'monotonic';
  /** Of the generator. */
  offset_ms: number | null;
  /** How far the stamps of two processes can be apart: the sum of the two widest bounds. */
  bound_ms: number | null;
  generator_bound_ms: number | null;
  /** One host, one clock: bound_ms is no reason to doubt a stage. */
  one_host: boolean;
  /** For bound_ms, set by the user. */
  limit_ms: number | null;
  drift_ppm: number | null;
  probes: number;
  processes: { process: string; offset_ms: number; bound_ms: number }[];
}

/** Whether the instrument kept up. */
export interface Health {
  /** Due → sent, of all that was sent in the measured phases; null: nothing, or the closed model; absent: of an earlier version. */
  lateness?: Latency | null;
  /** Deliveries of the measured phases that arrived by the kernel's stamp, and by their read; absent: of an earlier version, all by their read. */
  arrival_stamps?: { kernel: number; read: number };
  /** Of its arrival latency, what each delivery of the measured phases may have lain unread in the subscriber's socket; null where the system does not tell. */
  socket_wait: Latency | null;
  gaps: Gap[];
  /** Samples that k6 did not take; the histograms hold them all the same. */
  samples_discarded: number;
  /** k6's Trend was given one in so many samples; the histograms hold all. */
  trend_one_in: number;
}

/** A span in which a subscriber had no connection. */
export interface Gap {
  subscriber: number;
  /** s since the start of the run. */
  from_s: number;
  /** null: it never came back. */
  to_s: number | null;
  reason: string;
}

/** Messages of a connection of its own, all the way round; no part of the account. */
export interface Canary {
  sent: number;
  arrived: number;
  interval_s: number;
  latency: Latency;
}

/** arrival and from_send: a sample per delivery; http: a sample per request. */
export interface Latencies {
  arrival: Latency;
  from_send: Latency;
  http: Latency;
  stages: Record<Stage, Latency>;
}

/** A distribution in ms; count 0: the rest null, curve empty. */
export interface Latency {
  count: number;
  min: number | null;
  mean: number | null;
  p50: number | null;
  p75: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  p999: number | null;
  max: number | null;
  /** Percentile 0..100, ms. */
  curve: [percentile: number, ms: number][];
  /** HdrHistogram V2, compressed, base64; µs. */
  histogram: string | null;
}

export interface Step {
  name: string;
  start_s: number;
  duration_s: number;
  vus: number | null;
  measured: boolean;
  requests: number;
  /** Messages. */
  scheduled: number;
  accepted: number;
  /** Deliveries of what was accepted; absent: of an earlier version. */
  due?: number;
  /** Deliveries. */
  arrived: number;
  scheduled_per_s: number | null;
  accepted_per_s: number | null;
  arrived_per_s: number | null;
  /** Deliveries owed at its end; null: it has not ended. */
  backlog?: number | null;
  /** From its end until nothing was owed; null: it was not waited for, or in vain. */
  drained_s?: number | null;
  /** Mean over its seconds, by process. */
  cpu_percent?: Record<string, number> | null;
  latency: Latencies;
  sampled?: Sampled | null;
}

/** Made by extensions/k6/internal/report/knee.go alone: p50 of arrival takes off for good. */
export interface Knee {
  /** The last concurrency before; 0: it is below the first step, where a backlog grows already. */
  vus: number;
  /** The one after it. */
  next: number;
  /** Whose mean grew most from the one to the other, or of the first step the longest; empty: not known. */
  stage: Stage | '';
}

/** Arrival as one message in so many tells it, whose times stand in the trace lists of ingest and relay. In ms; null: no sample. */
export interface Sampled {
  one_in: number;
  /** Deliveries of messages that stand in both lists. */
  count: number;
  /** Deliveries of sampled messages that do not. */
  not_found: number;
  mean: number | null;
  p50: number | null;
  p99: number | null;
  max: number | null;
  /** Means, which sum to `mean`: due to noted by the ingest, to noted by the relay, to arrived. */
  parts: Record<'ingest' | 'relay' | 'arrival', number | null>;
  /** sampled − all. */
  difference: Record<'mean' | 'p50' | 'p99', number | null>;
}

export interface Flow {
  name: string;
  /** Messages. */
  scheduled: number;
  /** Deliveries. */
  arrived: number;
  arrival: Latency;
}

/** Targets that stand out, the highest p99 first, and the others together: each delivery is in just one row. */
export interface Targets {
  total: number;
  rows: ({ name: string } & TargetFigures)[];
  others: ({ targets: number } & TargetFigures) | null;
}

export interface TargetFigures {
  /** Measured phases only; percentiles of two significant digits. */
  arrival: Brief | null;
  /** Deliveries, whole run. */
  reordered: number;
  /** Messages, whole run. */
  lost: number;
}

/** One second, one line of timeline.ndjson. */
export interface Interval {
  t: number;
  phase: string | null;
  requests: number;
  /** Messages, by when they were due. */
  scheduled: number;
  sent: number;
  accepted: number;
  rejected: number;
  failed: number;
  /** Deliveries, by arrival time. */
  arrived: number;
  /** Deliveries owed for accepted messages and not arrived, at the end of the second. */
  backlog: number;
  arrival: Brief | null;
  from_send: Brief | null;
  http: Brief | null;
  /** Arrival latency counted in bins: the number of the first, then counts; bin k is from 10^(k/10) µs on. */
  arrival_bins?: number[] | null;
  /** Means, ms. */
  stages: Record<Stage, number | null> | null;
  /** Of the canary message that was due in this second. */
  canary_ms: number | null;
  generator: { cpu_percent: number | null; rss_mb: number | null; steal_percent?: number } | null;
}

export interface Brief {
  count: number;
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
}

/** A figure that a script tells of itself. */
export interface ScriptFigure {
  name: string;
  value: number | null;
  unit: string;
  /** In a merged run, whose it is. */
  generator?: number;
}

export interface Resource {
  process: string;
  /** 100 = one core. */
  cpu_percent: Extent;
  rss_mb: Extent;
  series: [t_s: number, cpu_percent: number | null, rss_mb: number | null][];
  figures?: Figures | null;
}

/** What a process, a server or the host said of itself, in columns: a row for each bin of time. */
export interface Figures {
  bin_s: number;
  /** Starts of the bins, s since the start of the run. */
  t: number[];
  /** Means over each bin; the host's are vmstat's. */
  gauges: Record<string, (number | null)[]>;
  /** How many were counted in each bin. */
  counts: Record<string, (number | null)[]>;
}

export interface Extent {
  mean: number | null;
  max: number | null;
}

export interface Environment {
  cpu: string | null;
  cores: number | null;
  memory_mb: number | null;
  kernel: string | null;
  os: string | null;
  go: string | null;
  shared_host: boolean | null;
  /** Versions and settings of the pipeline, as its stack told them. */
  pipeline?: PipelineFacts | null;
  [further: string]: string | number | boolean | null | PipelineFacts | undefined;
}

export type PipelineFacts = Record<string, string | number | boolean>;
