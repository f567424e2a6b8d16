// Generated from run.schema.json; do not edit.

/** What was run, when, and by which tool. */
export interface RunInfo {
  /** The first part of every message id of this run. */
  id: string;
  /** Name of the run's directory: method-topology-network-time. */
  name: string;
  /** The generator. */
  tool: {
    /** k6, artillery, … */
    name: string;
    /** Version of the tool. */
    version: string | null;
  };
  /** How load is offered: the name of the scenario. */
  method: string;
  /** Protocol of the requests, whose latency is "http": HTTP, MQTT, Redis. */
  protocol: string;
  /** open: requests are due at the times of the profile. closed: each VU sends its next request after the last answer; a message is due when it is sent. */
  model: "open" | "closed";
  /** Topology of the pipeline: single, cluster, … */
  topology: string;
  /** Network between generator and pipeline: loopback, lan, … */
  network: string;
  /** Free labels of the user, to find runs by. */
  labels: Record<string, string>;
  /** Start of the run: t = 0 of the timeline. */
  started: string;
  /** End of the run. null: not ended, or killed. */
  ended: string | null;
  /** The command that repeats the run. */
  command: string | null;
  /** The instance. null: the run has one. */
  generator: Generator | null;
  profile: Profile;
}

/** One of several instances that share a run by segments. */
export interface Generator {
  /** The second part of every message id of this instance. */
  number: number;
  /** How many instances the run has. */
  of: number;
  /** k6's execution segment. */
  segment: string;
  /** k6's execution segment sequence. */
  sequence: string;
  /** Start of all instances on the clock of Redis: t = 0 of the timeline. */
  start_us: number;
  /** How long after the start the instance was ready. 0: in time. */
  late_ms: number;
}

/** One instance of a merged run. null: it is missing, or did not report the value. */
export interface GeneratorResult {
  /** Number of the generator. */
  number: number;
  /** k6's execution segment. */
  segment: string;
  /** Its own verdict. missing: it has no report. */
  result: "pass" | "fail" | "invalid" | "incomplete" | "missing";
  /** The reasons of its own verdict. */
  reasons: string[];
  /** How long after the start it was ready. */
  late_ms: number | null;
  /** Its share. */
  scheduled: number | null;
  /** How many messages of its share arrived. */
  arrived: number | null;
  /** p99 of its lateness (health.lateness, or else the stage schedule). */
  schedule_p99_ms: number | null;
  /** p99 of its health.socket_wait. */
  socket_wait_p99_ms: number | null;
  /** Cores it may use. */
  cores: number | null;
  /** Version of its host's kernel. */
  kernel: string | null;
  /** Its busiest second. */
  cpu_percent_max: number | null;
  /** Reference minus its clock. */
  clock_offset_ms: number | null;
  /** Bound of the offset. */
  clock_bound_ms: number | null;
}

/** The planned load. */
export interface Profile {
  /** Name of the profile. */
  name: string;
  /** Planned phases, in order. */
  phases: Array<{
    /** Name of the phase. */
    name: string;
    /** Planned length. */
    duration_s: number;
    /** Request starts per second, at the beginning of the phase if it ramps. 0: a pause. null: the closed model. */
    arrival_rate: number | null;
    /** Request starts per second at the end of the phase. null: constant, or the closed model. */
    ramp_to: number | null;
    /** Concurrency of the closed model; 0: a pause. null: the open model. */
    vus: number | null;
    /** Counts towards `latency`. false: a warm-up. */
    measured: boolean;
    /** Ends the phase, at the latest after duration_s. Absent: the duration does. */
    requests?: number;
  }>;
  /** What one request is, by weight. */
  flows: Array<{
    /** Name of the flow. */
    name: string;
    /** Share of the requests, relative to the other flows. */
    weight: number;
    /** Messages in one request. */
    messages: number;
    /** Subscribers that each message is due to reach. */
    deliveries: number;
    /** Length of a message's payload in the profile; a script may replace it. Absent: random payloads. */
    payload_bytes?: number;
  }>;
}

export interface Verdict {
  /** fail: a limit was broken, or a message did not arrive. invalid: undecided, as the instrument's doubt is wider than the distance to a limit, or everything is in doubt. incomplete: the run did not reach its end, or a limit was not judged. */
  result: "pass" | "fail" | "invalid" | "incomplete";
  /** What decided, in a line. */
  meaning: string;
  /** Plain sentences, the deciding ones first. */
  reasons: string[];
  /** What the instrument put in doubt, in plain sentences. No limit depends on it unless the result is invalid. */
  doubts: string[];
  /** Every rule that the run was judged by. */
  rules: Rule[];
}

/** A limit, the measured value, and whether it held. Without a limit: a fact that holds or not. */
export interface Rule {
  /** Name of the figure; for a threshold its metric, with the aggregation unless it is a value or a count. */
  name: string;
  /** The measured value. null: unknown, or there is none. */
  value: number | null;
  /** The required relation of value to limit. empty: no limit. */
  op: "" | "<" | "<=" | ">" | ">=" | "==" | "===" | "!=";
  /** null: none. */
  limit: number | null;
  /** The unit of value and limit. */
  unit: string;
  /** Whether it held. null: not judged, or undecided; with a limit the run is no pass. */
  ok: boolean | null;
  /** The result of the run if the rule is broken. doubt: that depends on the limits whose figures it puts in doubt. */
  result: "fail" | "invalid" | "incomplete" | "doubt";
  /** How the limit was computed. empty: it was set. */
  basis: string;
  /** Why it is broken or undecided. empty: it holds, or another rule has the reason. */
  reason: string;
  /** What the rule is about. run: all of it. */
  part: "sending" | "receiving" | "pipeline" | "run";
  /** What was wrong, and what to do, if the rule makes the run unusable. Absent: it does not. */
  remedy?: string;
  /** What a broken rule on the instrument puts in doubt. Absent: everything, if its result is invalid, else nothing. */
  doubts?: Doubt[];
  /** The lowest reading of a figure in doubt that has a limit. Absent: no doubt, or no bound. */
  at_least?: number;
  /** The highest reading of a figure in doubt that has a limit. Absent: no doubt, or no bound. */
  at_most?: number;
  /** The broken rules that put the figure in doubt. Absent: none. */
  doubted_by?: string[];
  /** One reading of the figure holds the limit, another one breaks it. Absent: no. */
  undecided?: boolean;
  /** In a merged run: the instance. */
  generator?: number;
}

/** A claim of a run that is in doubt, and in which direction its figures may be wrong. */
export interface Doubt {
  claim: "arrival" | "http" | "stages" | "account" | "load" | "samples";
  direction: "too_high" | "too_low" | "either";
}

/** A figure beside what it is to be held against. */
export interface Tile {
  /** Arrival p99, Rate, … */
  name: string;
  /** In unit. null: not known. */
  value: number | null;
  /** Empty: none. */
  unit: string;
  /** The value as reports print it, without its unit. */
  text: string;
  /** The limit, the samples, what else there is to know of it. */
  note: string;
  /** How the value was made. Empty: there is none. */
  estimator: string;
  /** Behind the value. null: it is no estimate. */
  samples: number | null;
  /** What the instrument's doubt makes of the value. Empty: nothing. */
  doubt: "at_most" | "at_least" | "about" | "";
  /** A limit on it did not hold, or messages did not arrive. */
  worry: boolean;
}

/** Arrival p99 over windows of several seconds. Absent: seconds have a p99 of their own, or several have too few deliveries for one as well. */
export interface P99Over {
  /** Length of a window. */
  window_s: number;
  /** One for each of timeline, that of its window, from bins. null: too few deliveries. */
  ms: Array<number | null>;
}

/** The confidence interval of arrival p99: what p99 another run of the same process would have (Woodruff 1952, with blocks of consecutive seconds). */
export interface P99Interval {
  /** Its lower end. */
  low_ms: number;
  /** Its upper end. */
  high_ms: number;
  /** The confidence level, 0 to 1. */
  level: number;
  /** Deliveries. */
  samples: number;
  /** Measured seconds. */
  seconds: number;
  /** Blocks of consecutive seconds. */
  blocks: number;
  /** Length of a block; the last may be longer. */
  block_s: number;
  /** The factor that the variance of blocks was multiplied by. */
  inflation: number;
}

/** How the pipeline recovered from a burst. Times are from the end of the burst unless noted. */
export interface Recovery {
  /** The phase of the burst. */
  phase: string;
  /** The highest backlog from the start of the burst on. */
  peak_backlog: number;
  /** The second of the run at whose end the backlog was highest. */
  peak_s: number;
  /** The highest backlog of the phase before. null: it has no whole second. */
  calm_backlog: number | null;
  /** Until the backlog stayed at or below calm_backlog. null: it did not in this run. */
  drained_s: number | null;
  /** The worst second's arrival p99 in the phase before, or the largest latency if none has a hundred deliveries. null: no delivery. */
  calm_p99_ms: number | null;
  /** How many times calm_p99_ms is back to normal. */
  back_factor: number;
  /** Until every later second of a phase was back to normal. null: none was. */
  back_s: number | null;
  /** From the start of the burst until 99 % of its deliveries had arrived. null: they have not. */
  arrived_99_s: number | null;
}

/** The fit of the Universal Scalability Law to the rates that steps carried. */
export interface Usl {
  /** The rate of one VU alone. */
  lambda_per_s: number;
  /** Contention. */
  sigma: number;
  /** Coherency. */
  kappa: number;
  /** Concurrency of the highest throughput. null: none, or far beyond the steps. */
  peak_vus: number | null;
  /** Share of the variance that it explains. */
  r2: number;
  /** That are fitted. */
  steps: number;
  /** Pairs of VUs and messages/s, at the steps and between them. */
  points: Array<[number, number]>;
}

/** Arrival latency of what was due in a second, by its load, from bins. */
export interface LoadPoint {
  /** Messages that were due in it. */
  per_s: number;
  /** null: too few deliveries. */
  p50_ms: number | null;
  /** null: fewer than a hundred deliveries. */
  p99_ms: number | null;
}

/** What follows from a step. */
export interface PhaseFacts {
  /** Mean of the step. */
  requests_per_s: number;
  /** With the largest share of the mean arrival. Empty: none is known. */
  largest_stage: string;
  /** Its share. null: none is known. */
  largest_share: number | null;
}

export interface Bottleneck {
  /** One of the run's stages; ingest where it refused messages. */
  stage: string;
  /** The stage, with the reason where it is named for more than its time. */
  text: string;
}

/** What all processes of the generator used. null: one of them did not report it. */
export interface GeneratorCost {
  /** By the scheduled messages. */
  cpu_us_per_message: number | null;
  /** Resident, the most. */
  memory_mb: number | null;
}

export interface InDoubt {
  claim: "arrival" | "http" | "stages" | "account" | "load" | "samples";
  direction: "too_high" | "too_low" | "either";
  /** Names of the broken rules. */
  by: string[];
  /** Why, by the first of them. */
  text: string;
}

export interface NotArrived {
  messages: number;
  /** The share of all scheduled messages. */
  share: number;
  /** By end, in per cent where it is much: 61 % rejected, 3 lost. */
  text: string;
}

/** What the script asks, besides the rate that the pipeline held. It decides the answer. */
export interface Question {
  /** recovery from a burst; steadiness of latency and memory over time; how many connections are held, at what cost; sessions of several calls; how much clients exchange as their number grows. */
  kind: "recovery" | "steadiness" | "connections" | "sessions" | "exchange";
  /** How many times the p99 before a burst is back to normal. Absent: another question, or 2. */
  back_factor?: number;
  /** That begin. Absent: another question. */
  sessions_per_s?: number;
  /** The calls of a session. Absent: another question. */
  calls?: number;
  /** In which sessions begin. Absent: another question. */
  seconds?: number;
}

/** How much arrival p99 grew from the second quarter of the measured time to the last; the first is warm-up. p99 is that of all deliveries that arrived in the quarter. */
export interface Drift {
  /** p99 of the second quarter. null: fewer than a hundred deliveries. */
  from_ms: number | null;
  /** p99 of the last quarter, and what arrived after it. null: fewer than a hundred deliveries. */
  to_ms: number | null;
  /** Below 0: it fell. null: one of them is not known. */
  grew_ms: number | null;
  /** grew_ms as a share of from_ms. null: not known, or from_ms is 0. */
  grew_share: number | null;
  /** Behind from_ms. */
  from_samples: number;
  /** Behind to_ms. */
  to_samples: number;
  /** The second quarter. */
  from: Span;
  /** The last quarter. */
  to: Span;
}

export interface Span {
  from_s: number;
  to_s: number;
}

/** How much the memory of the processes grew from the second quarter of the measured time to the last. */
export interface Memory {
  /** The most that a process of the pipeline has grown, 0 if all shrank. null: one of them, or all, reported no memory. */
  most_grew_mb: number | null;
  /** Those that grew most first, unknown ones last. */
  processes: MemoryGrowth[];
}

/** The growth of one process. */
export interface MemoryGrowth {
  /** As in resources. */
  process: string;
  /** Below 0: it shrank. null: it reported no memory in one of the quarters. */
  grew_mb: number | null;
  /** heap: the mean live heap after garbage collections, plus the least memory in buffers outside of it. rss: the least resident memory. Absent: not known. */
  of?: "heap" | "rss";
  /** false: the host or a generator. */
  pipeline: boolean;
}

/** How the backlog of a phase grew. */
export interface BacklogGrowth {
  /** Its name. */
  phase: string;
  /** Whole seconds of the phase. */
  seconds: number;
  /** Slope of the line through the seconds, by least squares. Below 0: it shrank. */
  deliveries_per_s: number;
  /** deliveries_per_s as a share of the deliveries that were due in a second. null: none were due. */
  share_of_rate: number | null;
  /** What the rate keeps in flight at the limit on arrival p99. null: there is no limit. */
  in_flight: number | null;
  /** The backlog grew over the phase, and by more than in_flight. */
  grows: boolean;
  /** share_of_rate if the backlog grows, else 0. */
  counted_share: number;
}

/** How many connections the publishers held, and what each cost. */
export interface Connections {
  /** By the instances of this report. */
  wanted: number;
  /** At once, at most. */
  held: number;
  /** After they were open. */
  lost: number;
  /** Not held, or lost. */
  missing: number;
  /** That all instances want, spread over the brokers. */
  all: number;
  /** That they are spread over. */
  brokers: number;
  /** Messages of the canary that did not arrive. null: the run has none. */
  canary_missing: number | null;
  /** All are to be open. */
  during: Span;
  /** What connections cost the generators and the brokers. */
  costs: ConnectionCost[];
}

/** What a process used for each connection that it held. */
export interface ConnectionCost {
  /** As in resources. */
  process: string;
  /** The connections of this process; for a broker, its share. */
  connections: number;
  /** Growth of resident memory until all connections were open, of 1,000 bytes. null: not known. */
  memory_kb: number | null;
  /** Mean CPU while they were held. null: not known. */
  cpu_us_per_s: number | null;
}

/** How many sessions there were. A session is an iteration of k6. */
export interface Sessions {
  /** Completed or interrupted. */
  begun: number;
  /** While the run collected. */
  completed: number;
  /** Were due, and did not begin. */
  missing: number;
  /** Completed ones, over the time in which sessions began. */
  per_s: number;
  /** In that time. */
  requests_per_s: number;
}

/** How much clients exchanged as their number grew. */
export interface Clients {
  /** The highest rate. */
  most: ClientRate;
  /** By ascending number of clients. */
  steps: ClientRate[];
}

/** What a number of clients exchanged. */
export interface ClientRate {
  /** Their number. */
  clients: number;
  /** Taken and arrived, of all clients together. */
  messages_per_s: number;
  /** What each client receives. */
  each_messages_per_s: number;
}

/** What follows from the rest of the run, made once for all that show it. */
export interface Derived {
  /** null: the script does not ask for them. */
  clients: Clients | null;
  /** null: the script does not ask for sessions. */
  sessions: Sessions | null;
  /** null: the run has no publishers. */
  connections: Connections | null;
  /** The backlog of the one measured phase. null: there are several, its rate does not stay, or it has fewer than two seconds. */
  backlog: BacklogGrowth | null;
  /** null: no measured phase has begun. */
  memory: Memory | null;
  /** null: the load does not stay at one rate. */
  drift: Drift | null;
  /** null: the script asks for the rate that the pipeline held. */
  question: Question | null;
  generator: GeneratorCost;
  doubts: InDoubt[];
  /** What did not arrive, allowed or not. null: everything arrived, or may still. */
  not_arrived: NotArrived | null;
  /** What gave way in a run that was above a limit on the latency of arrivals, or refused messages: the stage that took most of the time of the slowest 1 %. null: it was not, or its stages are not known. */
  bottleneck: Bottleneck | null;
  /** What the hypervisor and other processes took of the CPU in the measured phases, as a sentence: without them a run that did not hold its load might have held it. null: little, or not enough for what is missing. */
  disturbed: string | null;
  /** One entry for each of steps. */
  phases: PhaseFacts[];
  /** The measured seconds of an open load by ascending load. null: the load stayed as it was. */
  by_load: LoadPoint[] | null;
  /** null: no sweep, too few steps, or the fit explains too little. */
  usl: Usl | null;
  /** null: the load has no burst. */
  recovery: Recovery | null;
  arrival_p99_over?: P99Over;
  /** null: the run is too short for how alike its seconds are, or a sweep. */
  arrival_p99_interval: P99Interval | null;
  /** How many findings say that something gave way, and the first of them in a few words. Absent: none does. */
  warnings?: string;
  /** Why requests take longer than arrivals. Absent: they do not. */
  slower_requests?: string;
  /** Titles of charts by key: search, connections, refusals, burst, p99, messages, deliveries, backlog, in_flight, payload, arrival, heat, http, percentiles, distribution, by_load, latency_by_vus, throughput_by_vus; usl is a note below the last. Highest values are those of the measured phases and their drain. */
  titles: Record<string, string>;
  /** The figures that matter most, in order. Empty: no sample, or the account does not balance. */
  tiles: Tile[];
  /** From start to end of the run. null: it has not ended. */
  duration_s: number | null;
  /** Reasons of the verdict that the answer does not say. */
  reasons: string[];
  /** What the load asks: a sweep of concurrency, one burst, a load at one rate in at least three phases. */
  shape: "sweep" | "spike" | "steady" | "other";
  /** The stages that a reader sees first. */
  journey: Journey;
  /** The stages by spans, in the order of spans.stages. Empty: none. */
  span_stages: StageRow[];
  /** How many deliveries have stages by spans, as a sentence. Empty: spans were not requested. */
  span_head: string;
  /** Which have none, and why. Empty: all have them. */
  span_left: string;
  /** The stage with the largest part of the mean arrival. null: no stage is known. */
  largest_stage: Longest | null;
  /** The stage that took most of the slowest delivery. null: not known. */
  slowest_stage: Longest | null;
  /** The part of the scheduled messages that arrived. null: none was scheduled. */
  arrived_share: number | null;
  /** The messages that did not arrive, in the order of a message's way; those whose place is unknown last. */
  losses: Loss[];
  /** Whether the account balances, as a sentence. */
  balance: string;
  /** Whether a target stands out, as a sentence. Empty: none is listed. */
  targets: string;
  /** The figures of the instrument, each beside its limit. */
  instrument: Check[];
  /** What the host of the pipeline had left. null: not known. */
  host: HostUse | null;
  /** The processes that used most, and the totals of each figure. */
  resources: ResourceFacts;
}

/** The stages of a delivery in the pipeline that was measured. */
export interface Journey {
  /** The step of a sweep whose deliveries it is about: that of the knee. Absent: all deliveries. */
  of?: string;
  /** What the stages are known by: stamps in the messages, spans of the pipeline's own traces. none: neither; what follows the schedule is one. */
  source: "stamps" | "spans" | "none";
  /** Mean arrival latency of the deliveries that the shares are of. null: none arrived. */
  mean_ms: number | null;
  /** Mean arrival latency of the slowest 1 %. null: not known. */
  slow_mean_ms: number | null;
  /** Deliveries whose stages are known. */
  samples: number;
  /** Sum of the stages' means. null: none is known. */
  sum_ms: number | null;
  /** sum_ms as a share of mean_ms; 1 to within rounding. null: not known. */
  covers: number | null;
  /** In order. */
  stages: StageRow[];
}

/** A stage with its figures. null: not known. */
export interface StageRow {
  /** Its name. */
  name: string;
  /** The mark at which it begins. */
  from: string;
  /** The mark at which it ends. */
  to: string;
  /** What it holds. Empty: not known. */
  says: string;
  /** Deliveries that it is known of. */
  count: number;
  /** Mean. */
  mean_ms: number | null;
  /** Stages by spans alone have it: the mean of all deliveries is within it of mean_ms, with 95 % confidence. */
  error_ms: number | null;
  /** p50. null: too few samples. */
  p50_ms: number | null;
  /** p99. null: too few samples. */
  p99_ms: number | null;
  /** Largest sample. */
  max_ms: number | null;
  /** The share of the mean arrival. */
  share: number | null;
  /** The share of the mean arrival of the slowest 1 %. */
  slow_share: number | null;
  /** Mean of the slowest 1 %. */
  slow_mean_ms: number | null;
  /** The bound of the clocks, of a stage that is too short for it. null: it does not matter. */
  bound_ms: number | null;
}

/** The stage that took most of a time. Where the known stages leave over more than each of them, all that follows the schedule is named as one. */
export interface Longest {
  /** Its name, or that of the first stage after the schedule “to” that of the last. */
  stage: string;
  /** Its time. */
  ms: number;
  /** The share of the whole time. */
  share: number;
}

/** How many messages did not arrive in one way. */
export interface Loss {
  /** Their end, as in the account. */
  end: string;
  /** How many. */
  count: number;
  /** The share of the scheduled messages. */
  share: number;
  /** The stage of facts.journey at which they left the way. null: the place is unknown. */
  stage: string | null;
}

/** A figure of the instrument beside its limit, in words. */
export interface Check {
  /** What it is. */
  what: string;
  /** What that means. Empty: its rule says it. */
  meaning: string;
  /** The figure. */
  figure: string;
  /** Further figures. Empty: none. */
  more: string;
  /** With its relation. none: none is allowed. Empty: there is no limit. */
  limit: string;
  /** How the limit was computed. Empty: it was set, or there is none. */
  basis: string;
  /** Whether the limit was held. null: no rule, not judged, or undecided. */
  ok: boolean | null;
  /** One reading of the figure holds the limit, another one breaks it. */
  undecided: boolean;
  /** The name of its rule in verdict.rules. Empty: it has none. */
  rule: string;
  /** What the broken rule puts in doubt. Empty: it is not broken. */
  doubts: string;
}

/** What the host of the pipeline had left, and what its hypervisor took. null: not known. */
export interface HostUse {
  /** Idle, on average. */
  idle_mean_percent: number | null;
  /** Idle, at least. */
  idle_least_percent: number | null;
  /** Most context switches in a second. */
  switches_max_per_s: number | null;
  /** It moved memory to a disk or from it. */
  swapped: boolean;
  /** CPU that the hypervisor gave to others, on average. */
  steal_mean_percent: number | null;
  /** The same, in the worst second. */
  steal_max_percent: number | null;
}

/** The processes that used most, without the host, and the totals of each figure. */
export interface ResourceFacts {
  /** % of a core. null: not known. */
  most_cpu: Most | null;
  /** MB. null: not known. */
  most_memory: Most | null;
  /** Each figure of a process, over the whole run. */
  totals: Totals[];
}

/** What a process used at most. */
export interface Most {
  /** Its name. */
  process: string;
  /** At most. */
  max: number;
}

/** A figure of a process over the whole run. */
export interface Totals {
  /** Its name. */
  process: string;
  /** The figure's name. */
  name: string;
  /** The sum of a count. null: it is a gauge. */
  sum: number | null;
  /** The mean of a gauge. null: it is a count, or has no value. */
  mean: number | null;
  /** The highest value of a bin. null: it has no value. */
  max: number | null;
}

/** Every message id that was due, whole run. scheduled is the sum of the ends, dropped to pending. */
export interface Account {
  /** Ids that were due. */
  scheduled: number;
  /** Never sent by the generator. */
  dropped: number;
  /** Refused by the ingest, or there was no connection to it. */
  rejected: number;
  /** May have been taken (no answer, a broken connection, or a gateway's 502 or 504), and never arrived. */
  unknown: number;
  /** Reached every subscriber. */
  arrived: number;
  /** Arrived with other content than was sent, and to some subscriber not whole. */
  altered: number;
  /** Came to another recipient, and not to each of its own. */
  misdelivered: number;
  /** Given up by the relay. */
  dead_lettered: number;
  /** Still in the queue when the drain limit was reached. */
  queued: number;
  /** Accepted, and nowhere. */
  lost: number;
  /** In flight when the run was cut off; 0 unless it is incomplete. */
  pending: number;
  /** The equation holds. */
  balanced: boolean;
  /** Deliveries of a message that the subscriber had already. */
  duplicates: number;
  /** At a recipient that their message was not for. */
  misdeliveries: number;
  /** Arrived after a later one of the same target. */
  reordered: number;
  /** With a stage below zero; of request and delivery by more than the clock bound. */
  negative: number;
  /** Messages with ids of other runs. */
  foreign: number;
  requests: {
    /** Requests that were due. */
    scheduled: number;
    /** Requests that were sent, each counted once. */
    sent: number;
    /** POSTs that were repeated with the same id. */
    retried: number;
    /** Requests without a 2xx in the end, whether or not their messages arrived. */
    failed: number;
  };
  /** Deliveries: a message has one for each subscriber of its flow. */
  deliveries: {
    /** Due for messages that were accepted or arrived. */
    due: number;
    /** Arrived, each counted once. */
    arrived: number;
    /** due − arrived. */
    missing: number;
  };
}

export interface Clock {
  /** The reference clock. monotonic: the generator's own, as it sends and receives in one process. */
  reference: "redis TIME" | "monotonic";
  /** Reference minus the generator's clock; 0 where zero lies inside the bound. */
  offset_ms: number | null;
  /** How far the stamps of two processes can be apart: the sum of the two widest bounds among generator and processes. A stage between two processes that is shorter than this is not known. */
  bound_ms: number | null;
  /** The bound of the generator's offset: half the shortest round trip of its probes. */
  generator_bound_ms: number | null;
  /** All addresses of the run are on this host and no offset is proven: with one clock bound_ms does not matter. */
  one_host: boolean;
  /** The limit that the user set for bound_ms. null: none. */
  limit_ms: number | null;
  /** Drift of the offset over the run. */
  drift_ppm: number | null;
  /** Probes of the reference. */
  probes: number;
  /** Clocks of the pipeline's processes, as they report them; may be empty. */
  processes: Array<{
    /** ingest-1, relay-1, … */
    process: string;
    /** Reference minus the process's clock; 0 where zero lies inside the bound. */
    offset_ms: number;
    /** Half the shortest round trip of its probes. */
    bound_ms: number;
  }>;
}

/** Whether the instrument kept up. */
export interface Health {
  /** Lateness (sent − due) of the measured phases, once for each due delivery. Unlike the stage schedule it includes messages that did not arrive. null: nothing was sent, or the closed model. */
  lateness: Latency | null;
  /** How many deliveries of the measured phases have their arrival from the kernel's stamp of the last byte (Linux), and how many from the read, without a credible stamp. */
  arrival_stamps: {
    /** By the kernel's stamp. */
    kernel: number;
    /** By their read. */
    read: number;
  };
  /** The part of the arrival latency that a delivery may have been unread in the subscriber's socket, of the measured phases: 0 with its own kernel stamp. null: unknown (not on Linux, or a script or a caller gave the times), or nothing arrived. */
  socket_wait: Latency | null;
  /** Spans in which a subscriber had no connection. */
  gaps: Array<{
    /** Number of the subscriber. */
    subscriber: number;
    /** When its connection was lost, since the start of the run. */
    from_s: number;
    /** When it was subscribed again. null: never. */
    to_s: number | null;
    /** Why the connection was lost. */
    reason: string;
  }>;
  /** Samples that k6 did not take; the histograms have them. */
  samples_discarded: number;
  /** k6's Trend gets one in so many samples; 1: all. The histograms have all. */
  trend_one_in: number;
}

/** Messages at a steady, low rate through the whole pipeline, over separate connections and a separate topic, outside the account. If load and canary are slow, the pipeline is; if only the load is slow, its connections or the instrument are. */
export interface Canary {
  /** Canary messages sent. */
  sent: number;
  /** How many of these arrived. */
  arrived: number;
  /** From one canary message to the next. */
  interval_s: number;
  /** arrived − due, one sample per message. */
  latency: Latency;
}

export interface Latencies {
  /** arrived − due, one sample per delivery. */
  arrival: Latency;
  /** arrived − sent, one sample per delivery: uncorrected. */
  from_send: Latency;
  /** Answer − sent, one sample per request. */
  http: Latency;
  /** By name of a stage (stages); per delivery they add up to arrival. */
  stages: Record<string, Latency>;
}

/** A distribution, from an HdrHistogram (1 µs, 3 significant digits). count 0: everything else null, curve empty. */
export interface Latency {
  /** Samples. */
  count: number;
  /** Smallest sample. */
  min: number | null;
  /** Arithmetic mean. */
  mean: number | null;
  /** Half of the samples are no larger. */
  p50: number | null;
  /** 75th percentile. */
  p75: number | null;
  /** 90th percentile. */
  p90: number | null;
  /** 95th percentile. */
  p95: number | null;
  /** 99th percentile. */
  p99: number | null;
  /** 99.9th percentile. */
  p999: number | null;
  /** Largest sample. */
  max: number | null;
  /** Pairs of percentile (0 to 100) and ms, both ascending, denser towards 100. */
  curve: Array<[number, number]>;
  /** HdrHistogram V2, compressed, base64. null: left out. */
  histogram: string | null;
}

/** Results of a phase. Messages and requests belong to the phase in which they are due, deliveries to the phase of their message. */
export interface Step {
  /** Name of the phase. */
  name: string;
  /** Start, since the start of the run. */
  start_s: number;
  /** Length; for a phase that was cut off, the time that it ran. */
  duration_s: number;
  /** Concurrency of the closed model. null: the open model. */
  vus: number | null;
  /** Counts towards `latency` of the run. */
  measured: boolean;
  /** Requests that were due while it ran. */
  requests: number;
  /** Messages that were due while it ran. */
  scheduled: number;
  /** Messages that the ingest accepted. */
  accepted: number;
  /** Messages that the ingest accepted, or that arrived though their request failed. */
  taken: number;
  /** Deliveries due for taken messages. */
  due: number;
  /** Deliveries made. */
  arrived: number;
  /** scheduled / duration_s. */
  scheduled_per_s: number | null;
  /** accepted / duration_s. */
  accepted_per_s: number | null;
  /** Messages that arrived during the phase, however their requests ended; without lost and late ones. */
  carried_per_s: number;
  /** arrived / duration_s. */
  arrived_per_s: number | null;
  /** Deliveries of accepted messages that had not arrived at its end. null: it has not ended. */
  backlog: number | null;
  /** From its start until 99 % of the deliveries due in it had arrived. null: they have not, or the closed model. */
  arrived_99_s: number | null;
  /** From its end until none of them was left. null: the run did not wait, or the wait ended first. */
  drained_s: number | null;
  /** Mean over its seconds, by process. null: unknown. */
  cpu_percent: Record<string, number> | null;
  latency: Latencies;
  /** Figures of the trace lists. null: not requested. */
  sampled: Sampled | null;
  /** Sent in the second that they were due in. null: unknown, or the closed model. */
  offered_per_s: number | null;
}

export interface Knee {
  /** The last concurrency before it. 0: below the first step, which has a growing backlog. */
  vus: number;
  /** The concurrency of the next step. */
  next: number;
  /** The stage whose mean grew most between the two; below the first step, the longest. Empty: unknown. */
  stage: string;
}

/** Stages of sampled messages of the measured phases, by the spans that the pipeline sent to the run, or by those of files. */
export interface Spans {
  /** One message in so many has the flag `sampled`, but at most one of a request. */
  one_in: number;
  /** The endpoint: host:port. Empty: the spans are those of files. */
  listen: string;
  /** The spans that came to the endpoint, or that files have. */
  received: {
    /** Taken; of files, their number. 0 without an endpoint: none is joined yet. */
    requests: number;
    /** Malformed, too large, or not of spans. */
    refused: number;
    /** In the requests taken. */
    spans: number;
    /** Spans in traces of this run's messages. */
    own: number;
    /** Spans in traces that link to such, like those of batches. */
    linked: number;
    /** Spans in other traces, which are not used. */
    others: number;
    /** Without ids, or with times that can't be. */
    malformed: number;
    /** For which there was no room. */
    dropped: number;
  };
  /** Deliveries of sampled messages. */
  sampled: number;
  /** Those of them whose messages have spans. */
  traced: number;
  /** Those of them that have every used mark once and in order. `stages`, `arrival` and `slowest` are theirs. */
  count: number;
  /** The moments that spans give, in order. */
  marks: Array<{
    /** Name of the mark. */
    mark: string;
    /** Which end of which span it is, in words. */
    span: string;
    /** It divides stages. false: too few messages have it for this pipeline to make it. */
    used: boolean;
    /** Whose messages have it. */
    seen: number;
    /** Left out: their messages have spans, but not this mark. */
    missing: number;
    /** Left out: several spans of their messages are this mark. */
    twice: number;
    /** Left out: it is before the mark before it, or the last one after the arrival, by more than the clocks allow. */
    disordered: number;
  }>;
  /** From mark to mark, in order; the means sum to arrival.mean. Empty: no mark was seen. */
  stages: SpansStage[];
  /** The whole time of the deliveries with stages. */
  arrival: SpansStage;
  /** arrival − that of all deliveries. */
  difference: {
    mean: number | null;
    p50: number | null;
    p99: number | null;
  };
  /** The clocks of the hosts that spans come from. Stages are on the generator's clock. */
  clocks: Array<{
    /** host.name of the spans' resource, or else k8s.node.name, service.instance.id, service.name. */
    host: string;
    /** Its clock minus the generator's. */
    offset_ms: number;
    /** How far offset_ms may be off; with half a ms where all its spans begin at whole ms. */
    bound_ms: number;
    /** redis: the clock of Redis, as far as it and the traces agree. traces: a message is not received before it is sent, nor a child begun before its parent. disagree: no offset fits all, so the clock was set or drifts. */
    basis: "same host" | "redis" | "traces" | "disagree";
  }>;
  /** The slowest deliveries with stages, or if none has any, of those with spans; slowest first. */
  slowest: Array<{
    /** Id of the message. */
    id: string;
    /** Its trace. */
    trace: string;
    /** Arrival latency. */
    arrival_ms: number;
    /** In the order of `stages`. */
    stages_ms: number[];
    /** Its first 40 spans, by start. */
    spans: Array<{
      /** service.name. */
      service: string;
      /** Name of the span. */
      name: string;
      /** server, client, producer, consumer, internal. */
      kind: string;
      /** How many spans are above it. */
      depth: number;
      /** Since the message was due, on the generator's clock. */
      start_ms: number;
      /** Likewise. */
      end_ms: number;
    }>;
  }>;
}

export interface SpansStage {
  /** The mark at which it begins. */
  from: string;
  /** The mark at which it ends. */
  to: string;
  mean: number | null;
  /** The mean of all deliveries is within it of `mean`, with 95 % confidence. null: fewer than two messages. */
  error: number | null;
  /** null: fewer than 2 deliveries. */
  p50: number | null;
  /** null: fewer than 100 deliveries. */
  p99: number | null;
  max: number | null;
  /** How far the clocks of its two ends may be apart. */
  bound: number;
}

/** Arrival of one message in so many, from the trace lists of ingest and relay, and its difference from all deliveries. */
export interface Sampled {
  /** One in so many. */
  one_in: number;
  /** Deliveries of messages in both lists. */
  count: number;
  /** Sampled messages that are not in both lists. */
  not_found: number;
  mean: number | null;
  p50: number | null;
  p99: number | null;
  max: number | null;
  /** Means, which sum to `mean`: due to noted by the ingest, to noted by the relay, to arrived. */
  parts: {
    ingest: number | null;
    relay: number | null;
    arrival: number | null;
  };
  /** sampled − all deliveries. */
  difference: {
    mean: number | null;
    p50: number | null;
    p99: number | null;
  };
}

export interface Flow {
  /** Name of the flow. */
  name: string;
  /** Messages that were due, measured phases. */
  scheduled: number;
  /** Deliveries made, measured phases. */
  arrived: number;
  /** Arrival latency, measured phases. */
  arrival: Latency;
  /** Mean of each stage, of the deliveries with stamps, measured phases. Absent: none. */
  stages?: Record<string, number>;
  /** Deliveries with stamps, measured phases. Absent: none. */
  stamped?: number;
}

/** A part of a delivery's time. It begins where the one before ends. */
export interface Stage {
  name: string;
  /** The mark at which it begins; of the first: due. */
  from: string;
  /** The mark at which it ends; of the last: arrived. */
  to: string;
  /** What it holds, in a few words; empty: not known. */
  says: string;
  /** Its marks may come from two clocks, so it is known only to within the clock bound. */
  crosses_hosts: boolean;
}

/** Something that stands out in the run. */
export interface Finding {
  /** A sentence. */
  text: string;
  /** What to do next. Absent: nothing. */
  next?: string;
  /** true: something gave way. false: a figure that is good to know. */
  worry: boolean;
  /** The seconds of the run that it is about. null: all of them. */
  span: {
    from_s: number;
    to_s: number;
  } | null;
}

/** The answer of the run. */
export interface Answer {
  /** The answer as a sentence; for an unusable run the reason and the remedy. */
  sentence: string;
  /** The limit that the run sets for p99 of the arrival. null: none. */
  p99_limit_ms: number | null;
  /** Share of the deliveries of the measured phases that arrived within the limit. null: unknown. */
  within_limit: number | null;
  /** The highest rate that kept p99 of the arrival below the limit: of a step of a sweep as long as every lower step did too, else over 5 s. 0: none. null: unknown. */
  held_per_s: number | null;
}

/** The slowest 1 % of the deliveries whose stages are known, and those that are as slow, to 1.6 %, as the fastest of them. Of a run of several instances: the slowest 1 % of each. */
export interface Tail {
  /** How many these are. */
  count: number;
  /** Deliveries whose stages are known. */
  of: number;
  /** Their mean arrival latency. */
  mean_ms: number;
  /** The means of their stages, which sum to mean_ms. */
  stages_ms: Record<string, number>;
}

/** The slowest deliveries and messages with a bad end, by id. */
export interface Messages {
  /** The slowest 100 deliveries of the measured phases, and the slowest 10 of each phase and flow; the slowest first. */
  slowest: Array<{
    /** As in the message. */
    id: string;
    /** Its trace in traces.otlp.json. Absent: it has none. */
    trace?: string;
    /** As in the message. Empty: not known. */
    target: string;
    /** Its name. */
    flow: string;
    /** Its name. */
    phase: string;
    /** Which of the subscribers, from 1. */
    subscriber: number;
    /** When it was due. */
    due: string;
    /** From due to arrived. */
    arrival_ms: number;
    stages_ms: Record<string, number>;
    /** The stage that took most of it. null: not known. */
    longest: Longest | null;
  }>;
  /** The first 100 messages of each bad end, and duplicate and negative deliveries. */
  named: Array<{
    /** As in the message. */
    id: string;
    /** Its trace in traces.otlp.json. Absent: it has none. */
    trace?: string;
    /** Its end, or its kind, as in the account. */
    end: "lost" | "rejected" | "unknown" | "altered" | "misdelivered" | "dead_lettered" | "queued" | "duplicates" | "misdeliveries" | "negative";
    /** As in the message. Empty: not known. */
    target: string;
    /** The recipient where a misdelivered message, or a misdelivery, came last. Absent: not known. */
    came_to?: string;
    /** Its name. */
    flow: string;
    /** Its name. null: unknown. */
    phase: string | null;
    /** When it was due. null: unknown. */
    due: string | null;
    /** Subscribers that have it. null: the row is a delivery. */
    delivered: number | null;
  }>;
}

/** The targets that stand out (at most 50 each that lost most, that have the highest p99, that were busiest), and the others together. Each delivery of the measured phases is in just one row. */
export interface Targets {
  /** Targets of the profile. */
  total: number;
  /** Highest p99 first. */
  rows: Array<{
    /** As in the message. */
    name: string;
    /** Arrival latency of the measured phases; percentiles of two significant digits. */
    arrival: Brief | null;
    /** Arrived after a later one, whole run. */
    reordered: number;
    /** Whole run. */
    lost: number;
  }>;
  /** null: there are none. */
  others: {
    /** How many. */
    targets: number;
    /** As in a row. */
    arrival: Brief | null;
    /** As in a row. */
    reordered: number;
    /** As in a row. */
    lost: number;
  } | null;
}

/** One second of the run; one line of timeline.ndjson. */
export interface Interval {
  /** Start of the second, since the start of the run. */
  t: number;
  /** Name of the phase. null: after the last one, while the rest arrives. */
  phase: string | null;
  /** Due in this second; in the closed model, sent. */
  requests: number;
  /** Due in this second; in the closed model, sent. */
  scheduled: number;
  /** Sent in this second. */
  sent: number;
  /** Accepted by ingest in this second. */
  accepted: number;
  /** Refused by the ingest in this second, or without a connection to it. */
  rejected: number;
  /** Whose request ended in this second without a known result: a time-out, a broken connection, a 502 or 504. */
  failed: number;
  /** Arrived in this second. */
  arrived: number;
  /** Deliveries of accepted messages that have not arrived at the end of the second. */
  backlog: number;
  /** Owed for the messages that were accepted in this second: `arrived` and what `backlog` grew by. */
  due: number;
  /** Sent and not answered at the end of the second. */
  in_flight: number;
  /** Deliveries that arrived in this second, from their due times. */
  arrival: Brief | null;
  /** Deliveries that arrived in this second, from their sending. */
  from_send: Brief | null;
  /** Requests answered in this second. */
  http: Brief | null;
  /** Arrival latency of the deliveries that arrived in this second. null: none, or not kept. */
  arrival_bins: number[] | null;
  /** Arrival latency of the deliveries of the measured phases whose message was due in this second (closed model: sent), whenever they arrived. Absent: none, or a line of timeline.ndjson. */
  due_bins?: number[];
  /** Payloads of the deliveries that arrived in this second. Absent: none, or not known. */
  arrived_bytes?: number;
  /** Deliveries with stamps that arrived in this second. Absent: none. */
  stamped?: number;
  /** Mean of each stage, of the deliveries with stamps that arrived in this second. null: unknown. */
  stages: Record<string, number | null> | null;
  /** Latency of the canary message that was due in this second. null: none arrived. */
  canary_ms: number | null;
  /** Sent in this second, of as many as were due in it: those that were late by more are missing. Absent: the closed model, or a line of timeline.ndjson. */
  offered?: number;
  /** Largest lateness (sent − due) of the requests of all phases that were due in this second; in a line of timeline.ndjson, of those that were sent in it too. null: none was sent, or the closed model. */
  late_max_ms: number | null;
  /** The generator's own use of the machine. null: unknown. */
  generator: {
    /** Mean over the second. */
    cpu_percent: number | null;
    /** Resident memory, in 10^6 bytes. */
    rss_mb: number | null;
    /** CPU that the hypervisor gave to other machines in the second. Absent: unknown. */
    steal_percent?: number | null;
    /** What was not idle in the second, of all cores, steal included. Absent: unknown. */
    host_percent?: number | null;
  } | null;
}

/** A short distribution. null: no sample. */
export interface Brief {
  /** Samples. */
  count: number;
  /** Arithmetic mean. */
  mean: number | null;
  /** 50th percentile. */
  p50: number | null;
  /** 95th percentile. */
  p95: number | null;
  /** 99th percentile. */
  p99: number | null;
  /** Largest sample. */
  max: number | null;
}

export interface Resource {
  /** ingest-1, relay-1, redis, mosquitto, host, k6, … */
  process: string;
  /** Processor time over elapsed time. For the host: us and sy of all its cores, with interrupts, without steal. */
  cpu_percent: Extent;
  /** Resident memory, in 10^6 bytes. Of the host what is in use. */
  rss_mb: Extent;
  /** Triples of s since the start of the run, cpu_percent, rss_mb. */
  series: Array<[number, number | null, number | null]>;
  figures: Figures | null;
}

/** Figures that the process, a server or the host reported, in columns: a row for each bin of time. null: none. */
export interface Figures {
  /** Length of a bin: 1, or as many seconds as make at most 300 bins of the run. */
  bin_s: number;
  /** Starts of the bins, s since the start of the run. */
  t: number[];
  /** Means over each bin, to 4 digits. Of the host, vmstat's names and units: r and b processes, in and cs a second, us, sy, id, wa and st % of all cores, free_mb MB (as all that end in _mb, of 10^6 bytes), si and so KB/s (of 1,024 bytes). */
  gauges: Record<string, Array<number | null>>;
  /** Increases of counters in each bin, like messages that an ingest accepted. */
  counts: Record<string, Array<number | null>>;
}

export interface Extent {
  /** Mean of the samples, one a second. */
  mean: number | null;
  /** Largest sample. */
  max: number | null;
}

export interface RunError {
  /** A stage, or the process that reported it. */
  stage: string;
  /** timeout, refused, status 503, … */
  class: string;
  /** How often. */
  count: number;
  /** The text of the first one. */
  example: string | null;
}

/** The generator's machine and software. Further facts may be added. */
export interface Environment {
  /** Model of the processor. null: unknown. */
  cpu: string | null;
  /** Cores the generator may use. */
  cores: number | null;
  /** Time that SHA-256 of 512 KB took before the load (median): it shows how fast the machine was. null: several machines. Absent: not kept. */
  calibration_us?: number | null;
  /** Memory of the machine, in 10^6 bytes. null: unknown. */
  memory_mb: number | null;
  /** Version of the kernel. null: unknown. */
  kernel: string | null;
  /** linux, darwin, … */
  os: string | null;
  /** Version of Arrival. */
  arrival: string | null;
  /** Version of Go that built the generator. */
  go: string | null;
  /** Generator and pipeline share this host, and so its cores. */
  shared_host: boolean | null;
  /** Versions and settings of the pipeline, from its stack. null: a pipeline of the user's own. */
  pipeline: Record<string, string | number | boolean> | null;
  /** The commit in the working directory. null: no repository, or no git. */
  git: Git | null;
  /** The CI job of the run. null: none known. */
  ci: Ci | null;
  [further: string]: unknown;
}

export interface Git {
  /** The full hash. */
  commit: string;
  /** The branch. null: detached HEAD, without a name from CI. */
  branch: string | null;
  /** Tracked files differ from the commit. null: unknown, no repository. */
  dirty: boolean | null;
}

export interface Ci {
  /** GitHub Actions, GitLab CI or Jenkins. */
  name: string;
  /** Its name. null: unknown. */
  job: string | null;
  /** The page of the job. null: unknown. */
  url: string | null;
}

export interface Probe {
  /** Whether it held is not known. Absent: it is. */
  undecided?: boolean;
  rate: number;
  /** Length of its load. */
  seconds: number;
  /** The pipeline held the rate within the limits. */
  held: boolean;
  /** Arrival; null: nothing arrived. */
  p99_ms: number | null;
}

/** What `k6 x arrival annotate` adds to a run. */
export interface Campaign {
  figures: Array<{
    name: string;
    /** null: not known. */
    value: number | null;
    /** Empty or absent: none. */
    unit?: string;
  }>;
  probes?: Probe[];
}

/** summary.json: what a list shows of a run, with the members of run.json at their paths. null: the run has none. */
export interface Summary {
  /** Some of the run's. */
  facts: {
    not_arrived: NotArrived | null;
    doubts: InDoubt[];
  };
  /** Name and version of this format. */
  schema: "arrival/summary/1";
  /** Size of the run.json that it summarizes. Beside a run.json of another size it does not count: something else has written that. */
  run_bytes: number;
  run: RunInfo;
  /** That of the run, without its rules. */
  verdict: {
    result: "pass" | "fail" | "invalid" | "incomplete";
    meaning: string;
    reasons: string[];
  };
  answer: Answer;
  account: Account;
  latency: {
    /** Arrivals of the measured phases. count 0: the others are null. */
    arrival: {
      /** Samples. */
      count: number;
      /** Half of the samples are no larger. */
      p50: number | null;
      /** 99th percentile. */
      p99: number | null;
    };
  };
  environment: {
    /** Model of the processor. null: unknown. Absent: not kept. */
    cpu?: string | null;
    /** Cores the generator may use. Absent: not kept. */
    cores?: number | null;
    /** Time that SHA-256 of 512 KB took before the load (median). null: unknown. Absent: not kept. */
    calibration_us?: number | null;
    /** Version of Arrival. */
    arrival: string | null;
    pipeline: Record<string, string | number | boolean> | null;
    git: Git | null;
    ci: Ci | null;
  };
}

/** One run of Arrival. Latencies are in ms (floats), unknown values are null. Integers are at most 2^53 − 1. A line of timeline.ndjson is $defs/interval, summary.json is $defs/summary. `unit` is an annotation: the unit of the number it stands beside. */
export interface Run {
  /** Name and version of this format. */
  schema: "arrival/run/1";
  run: RunInfo;
  verdict: Verdict;
  answer: Answer;
  /** What stands out: requests that failed, the worst second, then what gave way. */
  findings: Finding[];
  facts: Derived;
  account: Account;
  /** The clock that all stamps refer to. null: not probed yet. */
  clock: Clock | null;
  health: Health;
  /** All measured phases together. */
  latency: Latencies;
  /** Arrival latency of the deliveries of the measured phases, whenever they arrived. Absent: none. */
  arrival_bins?: number[];
  /** The canary of the run. null: it had none. */
  canary: Canary | null;
  /** Figures of the trace lists, of the measured phases. null: not requested. */
  sampled: Sampled | null;
  /** Stages of sampled messages by the spans of the pipeline's own traces. null or absent: not requested. */
  spans?: Spans | null;
  /** In a merged run: one entry for each instance, by number. Absent: a single instance. */
  generators?: GeneratorResult[];
  /** The phases that were reached, in order. Further phases of the profile were not reached. */
  steps: Step[];
  /** The knee of a sweep of concurrency, from where on arrival p50 stays high. null: no sweep, or its last step has not taken off. */
  knee: Knee | null;
  /** Figures of the script. */
  figures: Array<{
    name: string;
    /** null: not reached. */
    value: number | null;
    /** Empty: none. */
    unit: string;
    /** In a merged run: the instance. */
    generator?: number;
  }>;
  probes?: Probe[];
  /** The flows of the profile. */
  flows: Flow[];
  /** The stages of a delivery, in order; the first is schedule. */
  stages: Stage[];
  /** The stages of the slowest deliveries of the measured phases. null: fewer than a hundred have stages. */
  tail: Tail | null;
  /** Messages by id. null: the run has not ended. */
  messages: Messages | null;
  /** The targets of messages. null: the run has not ended. */
  targets: Targets | null;
  /** One entry a second, ascending t. The same objects as in timeline.ndjson. */
  timeline: Interval[];
  /** One entry for each process; the generator under the name of its tool, and "recorder" for `k6 x arrival record`. */
  resources: Resource[];
  /** Errors by stage and class. */
  errors: RunError[];
  environment: Environment;
}
