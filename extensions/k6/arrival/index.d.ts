/**
 * k6/x/arrival: sends messages on a schedule, receives them at the other end of an asynchronous pipeline, and accounts for
 * every one.
 *
 * ```js
 * import { Run } from 'k6/x/arrival';
 * const run = new Run({ profile: open('./profiles/ramp.yml'), ingest: { url }, mqtt: { url }, redis: { url } });
 * export const options = { scenarios: run.scenarios(), thresholds: run.thresholds({ arrival_p99: ['value<250'] }) };
 * export function subscriber() { run.collect(); }
 * export function sender() { run.send(); }
 * export const handleSummary = run.summary;
 * ```
 *
 * Metrics, pushed at the end of `collect()`:
 *
 * - `arrival_p99` (Gauge, ms): p99 of arrived − due, of all deliveries of the measured phases, as in the report. 1e9: nothing was
 *   measured.
 * - Counters of messages: `arrival_scheduled`, `_dropped`, `_rejected`, `_unknown`, `_arrived`, `_dead_lettered`, `_queued`, `_lost`.
 * - Counters of deliveries: `arrival_duplicates`, `_reordered`, `_negative`. Foreign ones have no metric.
 * - `arrival_invalid` (Counter): reasons not to trust the instrument.
 *
 * During the run `arrival_latency` (Trend, ms: arrived − due) serves dashboards: of every phase, with the warm-up; beyond 400,000 expected
 * deliveries one in n (`health.trend_one_in` of run.json). The native sender emits k6's `http_reqs`, `http_req_failed` and
 * `http_req_duration` (also one in n), tagged with `flow`.
 */

/** Seconds, or a number with its unit: `10`, `"10"`, `"10s"`, `"500ms"`, `"2m"`. */
export type Duration = number | string;

/** Options of `new Run()`. Required are `profile` and `ingest`, and `mqtt` unless `queue` or `answers` stands for it. */
export interface RunOptions {
  /** The text of a profile (YAML: phases and flows), or the text and the name to show. */
  profile: string | { name: string; text: string };
  /**
   * Replaces settings of named phases of the profile; empty and undefined values change nothing. Example:
   * `{ ramp: { rampTo: __ENV.RATE } }`.
   */
  phases?: Record<
    string,
    { duration?: Duration; arrivalRate?: number | string; rampTo?: number | string; vus?: number | string }
  >;
  /**
   * Replaces settings of all flows of the profile; empty and undefined values change nothing. `payloadBytes` (0 to 1,048,576) excludes
   * `fuzz`. Example: `{ payloadBytes: __ENV.PAYLOAD_BYTES }`.
   */
  everyFlow?: { payloadBytes?: number | string; targets?: number | string };
  /** Where messages are posted. `path` takes one message, `batchPath` a JSON array of them. */
  ingest: {
    /** `http://host:port` or `https://host:port`. */
    url: string;
    /** Sent as `Authorization: Bearer …`. */
    token?: string;
    /** Default `/messages`. */
    path?: string;
    /** Default `/messages/batch`. */
    batchPath?: string;
    /** More header fields of each request. */
    headers?: Record<string, string>;
    /** False: a connection for each request. Default true: one for each request in flight. */
    keepAlive?: boolean;
    /**
     * The most retries of a request, with the same ids, after no answer, 429 or a 5xx; 0 (default) to 100. A retry waits for
     * `Retry-After`, else 0.1 s, doubling up to 5 s. A message is measured once, from due to its first arrival.
     */
    retries?: number;
  };
  /**
   * Where messages arrive: `mqtt://[user:password@]host:port` (also `tcp`), `mqtts://` (`ssl`, `tls`), `ws://` or `wss://`, with k6's
   * TLS options. Required unless `answers` is set.
   */
  mqtt?: {
    url: string;
    /** User of the broker, instead of that in `url`. */
    username?: string;
    /** Of that user. */
    password?: string;
    /** The prefix before the target in a topic. Default `messages/`. */
    prefix?: string;
    /** 0, 1 or 2, default 1. At 0 lost messages are counted, but no failure. */
    qos?: 0 | 1 | 2;
    /** Default `"5"`. MQTT 3.1.1 has no user properties, so no stages between sender and subscriber. */
    version?: '5' | '3.1.1';
    /**
     * What the broker keeps while a subscriber is disconnected: nothing (`clean`, default), or its messages (`persistent`). A
     * subscriber reconnects by itself; the report shows the gap.
     */
    session?: 'clean' | 'persistent';
    /**
     * The subscriptions: each topic by name (`exact`, default), one filter for all topics of a target (`wildcard`), or these
     * filters as a shared subscription, where each message goes to one connection (`shared`; flows with 1 delivery).
     */
    topics?: 'exact' | 'wildcard' | 'shared';
    /**
     * One filter for all messages, when their topics are not `<prefix><target>`: `devices/+/events`. Each connection then gets every
     * message, so all flows need the same number of deliveries, and `canary: false`.
     */
    filter?: string;
    /** The least number of connections, up to 32; default: the largest number of deliveries of a flow. */
    connections?: number;
    /**
     * The topic prefix where subscribers publish their presence, like `status/subscriber/`; each adds its name. They publish a retained
     * `online`, and at the end of the run `offline`, and clear it. After a lost connection the Last Will is a retained `offline`. The user
     * needs the right to write there. Default: none.
     */
    status?: string;
    /**
     * More brokers beside `url`, with the same users. A connection to each subscribes to all topics, and a message arrives over one of them:
     * for `publishers` with the same `more`. All flows need 1 delivery.
     */
    more?: string[];
  };
  /**
   * The Redis whose TIME is the clock of the stamps. Without it the stages between sender and subscriber are one. For a cluster:
   * some nodes, the clock first: `redis://user:password@one:6379,two:6379`.
   */
  redis?: { url: string };
  /**
   * Certificates of the authorities to trust beside the system's, for `https`, `mqtts`, `wss` and `rediss`: the text of a PEM file.
   * Certificates are always checked, unless k6 is configured otherwise (`insecureSkipTLSVerify`).
   */
  ca?: string;
  /**
   * A message of a pipeline of your own, with `{{id}}`, `{{target}}` and `{{payload}}` (as many `x` as the flow's `payloadBytes`) where
   * they belong: `{"MsgID":"{{id}}","to":"{{target}}"}`. It need not be JSON; the id has to arrive unchanged, with no digit after it.
   * Default: `{"id":"{{id}}","source":"k6","target":"{{target}}","payload":"{{payload}}"}`.
   */
  body?: string;
  /**
   * Random payloads instead of the `x`: an object for each message, the same for the same seed and number. The
   * specification is a list of keys and types, `[userId,string,userAge,int,score,float,ok,boolean]`, or a JSON object that also has
   * ranges, lengths, allowed values and nested objects: `{"age":{"type":"int","range":[18,99]},"plan":["free","paid"],
   * "address":{"type":"object","fields":{"city":"string"}}}`. In a `body`, `{{payload}}` then stands without quotes.
   */
  fuzz?: { spec: string; seed?: number };
  /** The protocol of the requests in reports: `HTTP` (default), or that of a script's own sender, like `Redis`; `MQTT` with `publishers`. */
  protocol?: string;
  /** Key of the id in the default body, with dots between nested keys: `id` (default), `MsgID`, `meta.id`. */
  id?: string;
  /** VUs that send, 1 to 10,000. Default 64. In the closed model the profile's phases define them (`vus`). */
  senders?: number;
  /** Requests in flight of each sender with `pump()`, 1 to 10,000. Default 1. */
  inFlight?: number;
  /** Connections of a script's own sender, 1 (default) to 100, for the check of the limit of open files. */
  senderConnections?: number;
  /**
   * MQTT connections that publish the messages, instead of requests to the ingest; natively, without VUs or JavaScript. `rate` connections
   * open a second, up to `connections`, and stay until the load is over. The profile defines the messages in all. Connections take turns in
   * rounds of random order, so each publishes every (connections ÷ rate of messages) s on average, 0 to twice that apart. For
   * `scenarios({ pump: true })`. All of a message's time is the stage `delivery`; the latency of a request is the time until its PUBACK
   * (`qos` 1; default 0). Figures of the report count held, refused and lost connections.
   */
  publishers?: {
    /** As that of `mqtt`. */
    url: string;
    username?: string;
    password?: string;
    /** Default 0. */
    qos?: 0 | 1;
    /** How many in all. */
    connections: number;
    /** How many are opened a second. */
    rate: number;
    /** More brokers beside `url`: the connections go to each in turn. */
    more?: string[];
  };
  /**
   * One message a second beside the load, over separate connections and a separate topic (`canary/<run>`), to distinguish a slow pipeline
   * from a saturated instrument. The account does not include it. Default true.
   */
  canary?: boolean;
  /**
   * The queue of a pipeline without relays, from which the run reads messages instead of MQTT, and deletes them. `kind` is the pipeline's
   * `QUEUE`, by default `stream`; the user of `url` needs XREAD and XDEL, or BLMPOP. Needs `canary: false` and flows of one delivery. There
   * are no stages relay and delivery.
   */
  queue?: { url: string; kind?: 'stream' | 'list' };
  /**
   * Measures HTTP alone, without a broker: a message has arrived when its request is answered with 2xx. Needs `canary: false`, flows of
   * one delivery, and no `mqtt`, `queue` or `publishers`.
   */
  answers?: boolean;
  /**
   * Generator and pipeline share a machine, and so a clock and cores, although their addresses differ (network namespaces). Default: true
   * when all addresses are loopback.
   */
  oneHost?: boolean;
  /**
   * Reads one message in so many from the trace lists of the pipeline (`TRACE_LOG_EVERY`, the same number or a divisor), and reports their
   * difference from all deliveries: `sampled` of run.json and of its steps. It deletes the lists afterwards. Needs `redis`. Default 0: none.
   */
  sampled?: number;
  /**
   * Traces of messages, 0 (default: none) to 10,000: of up to so many deliveries of the measured phases, evenly over the run, and of the slowest
   * and those that did not arrive, which `messages` of run.json names. Each request then has a W3C header `traceparent`; that of a batch is its
   * first message's. After the run OTLP spans are written to `traces.otlp.json`, and sent to `OTEL_EXPORTER_OTLP_ENDPOINT` where it is set.
   */
  traces?: number;
  /** The widest clock bound between generator and pipeline of a valid run. */
  clock?: { limit?: Duration };
  /** The time-out of a request; after it the message is `unknown` unless it arrives. Default 10 s. */
  timeout?: Duration;
  /** How long after the last answer messages may arrive. Default 30 s. */
  drain?: Duration;
  /** How long nothing may arrive in the drain before the run ends. Default 10 s. */
  idle?: Duration;
  /**
   * Part of every id: 4 to 32 small letters and digits, new for each run. Default: random. Required for several k6 instances of one run,
   * each with its `--execution-segment` of one `--execution-segment-sequence` on its command line. They send what one would, at the same
   * times, each to its own topics (`<prefix><target>/<generator>/<number>`, unless `mqtt.filter` is set), and begin together, by the clock
   * of Redis. `senders`, `vus` and `publishers.connections` count all instances. Each writes its report to `generator-<number>` of the
   * run's directory; `k6 x arrival merge` merges them.
   */
  runId?: string;
  /** How long instances wait for each other; after it none sends. Default 60 s. */
  gather?: Duration;
  /** Names the run's directory: `<name>-<topology>-<network>-<time>`. Defaults `run`, `single`, `loopback`. */
  name?: string;
  /** How the pipeline is built: a label, for the directory and the report. */
  topology?: string;
  /** What lies between generator and pipeline: a label too. */
  network?: string;
  /** Free texts for the report. */
  labels?: Record<string, string>;
  /** Versions and settings of the pipeline for the report: `environment.pipeline` of run.json. */
  facts?: Record<string, string | number | boolean>;
  /** The folder of runs, default `reports/runs`; a path or a `file://` URL. */
  runs?: string;
  /** The run's directory, instead of a new one in `runs`. A directory with a run is refused. */
  dir?: string;
  /** The command in the report that repeats the run. Default: k6's command line, without secrets. */
  command?: string;
}

/** A request that a script sends itself. */
export interface Slot {
  /** `<run>.<generator>.<number>` of each message in the body. */
  readonly ids: string[];
  /** Name of the flow. */
  readonly flow: string;
  /** Path of the ingest that takes this body. */
  readonly path: string;
  /** JSON: one message, or an array of them. */
  readonly body: string;
  /** The target of each message: its topic is `<prefix><target>`. */
  readonly targets: string[];
  /** When it was handed out, in µs of Redis' clock, for stamps that a script makes itself. 0: the run has no Redis. */
  readonly stamp: number;
  /** With `traces`, the value of the header of that name; else empty. */
  readonly traceparent: string;
}

/**
 * The run of this process. Make it in the init context, once: all VUs share its schedule, ledger and clock. It does no I/O
 * there. Throws with the option's name, its value and what is allowed.
 */
export class Run {
  /** Checks the options. */
  constructor(options: RunOptions);

  /**
   * Part of every id of this run, so that messages of other runs do not count; with the number of the generator after it if there are
   * several.
   */
  readonly id: string;

  /**
   * The scenarios of the run; they call the script's functions `subscriber` and `sender`.
   *
   * - `subscriber`: one VU, one iteration, calls `collect()`.
   * - `sender`: a pool of VUs that share as many iterations as the schedule holds requests; calls `send()`, or `next()` and
   *   `settle()`. With `pump: true` each VU has one iteration, which calls `pump()`.
   * - In the closed model (a profile whose phases have `vus`) `sender` has as many VUs as the busiest phase, and each has one
   *   iteration, in which `send()` sends until the load is over. With `pump: true` a VU stands for `inFlight` of them.
   */
  scenarios(how?: { pump?: boolean }): Record<string, object>;

  /**
   * A script's thresholds, and those of every run's rules, so that k6 exits with 99 when one is broken: `arrival_invalid`,
   * `arrival_lost` (QoS 1 and 2), `arrival_queued`, `arrival_dead_lettered`, `arrival_unknown` and `arrival_rejected` are 0. A script's
   * threshold on one of the last four replaces the rule; one on `arrival_lost` is additional. Without `thresholds()` the run is judged
   * too, and k6 exits with 110.
   *
   * A limit on how many deliveries arrive in time, of the measured phases (us, ms or s): `{ 'arrival.within(250ms)': ['>= 99.9%'] }`,
   * or in k6's form `{ arrival_within_250ms: ['value>=0.999'] }`.
   */
  thresholds(own?: Record<string, string[]>): Record<string, string[]>;

  /**
   * Subscribes, starts the senders, and returns when everything has arrived, when nothing more comes (`idle`), or at the `drain`
   * limit. Then it searches missing messages in Redis. It ends the test when Redis or the broker cannot be used.
   */
  collect(): void;

  /**
   * Takes the next request of the schedule, waits until it is due, and posts it. Returns false when there is none left. In the closed
   * model it sends one request after the other until the load is over.
   */
  send(): boolean;

  /**
   * Sends until the schedule is empty, `inFlight` requests at a time and without JavaScript in between, which takes less CPU a
   * request than `send()`. For the sender of `scenarios({ pump: true })`.
   */
  pump(): void;

  /**
   * Takes a request and waits like `send()`, but the script sends it, and calls `settle()` afterwards. Null after the last. In the closed
   * model a VU calls it in a loop, as its scenario has one iteration; or in iterations of the script's own scenario, with no more VUs than
   * the phase has. There it can choose the flow, in all calls or in none, and so the weights.
   */
  next(flow?: string): Slot | null;

  /**
   * Records the HTTP status of a request from `next()`; 0: no answer. Call it once for each, within its iteration and `timeout` + 1 s;
   * otherwise the request counts as unanswered.
   */
  settle(slot: Slot, status: number): void;

  /**
   * The current run.json, without histograms; after `collect()` that of the whole run. A script can make figures of it, or k6 metrics
   * with thresholds. Throws before the run has begun.
   */
  result(): import('./run.gen.js').Run;

  /** How long the native sender's connections to the ingest took to open, with TLS, in ms; `count` is their number. */
  connections(): import('./run.gen.js').Latency;

  /**
   * Adds a figure to the report and the terminal: `run.figure('time to drain', 3.2, 's')`. A value that is not finite is shown as not
   * available. The last one of a name counts.
   */
  figure(name: string, value: number, unit: string): void;
  /**
   * Sets the answer of the run, the first sentence of terminal, page and `summary.md`: `run.answer('The backlog drained in 3.2 s.')`.
   * Without it they have one by the model of the load. It is not shown for an invalid or incomplete run.
   */
  answer(sentence: string): void;

  /**
   * Export it as `handleSummary`: it writes run.json and index.html, and returns the summary for the terminal. Throws during the test:
   * `result()` is the run so far.
   */
  summary(data?: object): Record<string, string>;
}
