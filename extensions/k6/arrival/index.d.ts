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
 * Metrics, pushed when `collect()` is through:
 *
 * - `arrival_p99` (Gauge, ms): p99 of arrived − due, of all deliveries of the measured phases; the arrival p99 of the report. 1e9 where
 *   nothing was measured.
 * - Counters of messages: `arrival_scheduled`, `_dropped`, `_rejected`, `_unknown`, `_arrived`, `_dead_lettered`, `_queued`, `_lost`.
 * - Counters of deliveries: `arrival_duplicates`, `_reordered`, `_negative`. Foreign ones have no metric.
 * - `arrival_invalid` (Counter): reasons not to trust the instrument.
 *
 * While the run goes on there is `arrival_latency` (Trend, ms: arrived − due), for dashboards: of every phase, the warm-up too, and of more than
 * 400,000 deliveries that are expected one in n (`health.trend_one_in` of run.json). The native sender emits k6's `http_reqs`,
 * `http_req_failed` and `http_req_duration` (one in n too), tagged with `flow`.
 */

/** Seconds, or a number with its unit: `10`, `"10"`, `"10s"`, `"500ms"`, `"2m"`. */
export type Duration = number | string;

export interface RunOptions {
  /** The text of a profile (YAML: phases and flows), or the text and the name to show. */
  profile: string | { name: string; text: string };
  /**
   * Settings that replace those of named phases of the profile, as from the environment; empty and undefined change
   * nothing. Example: `{ ramp: { rampTo: __ENV.RATE } }`.
   */
  phases?: Record<
    string,
    { duration?: Duration; arrivalRate?: number | string; rampTo?: number | string; vus?: number | string }
  >;
  /**
   * Settings that replace those of all flows of the profile; empty and undefined change nothing. `payloadBytes` (0 to 1,048,576) not
   * beside `fuzz`. Example: `{ payloadBytes: __ENV.PAYLOAD_BYTES }`.
   */
  everyFlow?: { payloadBytes?: number | string; targets?: number | string };
  /** Where messages are posted. `path` takes one message, `batchPath` a JSON array of them. */
  ingest: {
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
     * How often a request is repeated, with the same ids, after no answer, 429 or a 5xx; 0 (default) to 100. It waits as long as
     * `Retry-After` says, else 0.1 s, doubling up to 5 s. A message is measured once, from when it was due to its first arrival.
     */
    retries?: number;
  };
  /**
   * Where messages arrive: `mqtt://[user:password@]host:port` (also `tcp`), `mqtts://` (`ssl`, `tls`), `ws://` or `wss://`; TLS as
   * k6's own options say. Missing only with `answers`.
   */
  mqtt?: {
    url: string;
    username?: string;
    password?: string;
    /** What stands before the target in a topic. Default `messages/`. */
    prefix?: string;
    /** 0, 1 or 2, default 1. At 0 a lost message is counted, and no failure. */
    qos?: 0 | 1 | 2;
    /** Default `"5"`. MQTT 3.1.1 has no user properties, so no stages between sender and subscriber. */
    version?: '5' | '3.1.1';
    /**
     * What the broker keeps while a subscriber is without its connection: nothing (`clean`, default), or its messages
     * (`persistent`). A subscriber that loses its connection comes back by itself; the gap is in the report.
     */
    session?: 'clean' | 'persistent';
    /**
     * How topics are held: each by its name (`exact`, default), all topics of a target by one filter (`wildcard`), or those
     * filters in one shared subscription, in which each message goes to one connection (`shared`; flows with 1 delivery).
     */
    topics?: 'exact' | 'wildcard' | 'shared';
    /**
     * One filter for all messages, where their topics are not `<prefix><target>`: `devices/+/events`. Each connection then gets every
     * message, so all flows have the same number of deliveries; without `canary`.
     */
    filter?: string;
    /** At least so many connections, up to 32; default: the largest number of deliveries of a flow. */
    connections?: number;
    /**
     * Where subscribers say whether they are there: the beginning of a topic, like `status/subscriber/`, to which each adds its
     * name. It holds a retained `online`; when the run is over it says `offline` and is cleared, and when the connection is lost a Last Will
     * leaves a retained `offline`. The user must be allowed to write there. Default: none.
     */
    status?: string;
    /**
     * More brokers beside `url`, with the same users. A connection to each holds all topics there, and a message arrives over one of them: for
     * `publishers` with the same `more`. All flows have 1 delivery.
     */
    more?: string[];
  };
  /**
   * The Redis whose TIME is the clock of the stamps. Without it, stages between sender and subscriber are not separable. Of a
   * cluster some nodes, the clock first: `redis://user:password@one:6379,two:6379`.
   */
  redis?: { url: string };
  /**
   * Certificates of the authorities to trust beside the system's, for `https`, `mqtts`, `wss` and `rediss`: the text of a PEM file.
   * Certificates are always checked, unless k6 is configured otherwise (`insecureSkipTLSVerify`).
   */
  ca?: string;
  /**
   * A message of a pipeline of your own, with `{{id}}`, `{{target}}` and `{{payload}}` (as many `x` as the flow's `payloadBytes`) where
   * they belong: `{"MsgID":"{{id}}","to":"{{target}}"}`. It need not be JSON; the id has to arrive as it was sent, with no digit after it.
   * Default: `{"id":"{{id}}","source":"k6","target":"{{target}}","payload":"{{payload}}"}`.
   */
  body?: string;
  /**
   * Payloads of random values in the place of the `x`: an object for each message, the same for the same seed and number. The
   * specification is a list of keys and types, `[userId,string,userAge,int,score,float,ok,boolean]`, or a JSON object that also says
   * ranges, lengths, allowed values and nested objects: `{"age":{"type":"int","range":[18,99]},"plan":["free","paid"],
   * "address":{"type":"object","fields":{"city":"string"}}}`. In a `body`, `{{payload}}` then stands without quotes.
   */
  fuzz?: { spec: string; seed?: number };
  /** What reports call the requests: `HTTP` (default), or what a script's own sender speaks, like `Redis`; `publishers` speak `MQTT`. */
  protocol?: string;
  /** Key of the id in the default body, with dots between nested keys: `id` (default), `MsgID`, `meta.id`. */
  id?: string;
  /** VUs that send, 1 to 10,000. Default 64. In the closed model the profile's phases say how many (`vus`). */
  senders?: number;
  /** Requests that each of them may have in flight with `pump()`, 1 to 10,000. Default 1. */
  inFlight?: number;
  /** Connections that a script's own sender opens, 1 (default) to 100: files that the process needs to have open. */
  senderConnections?: number;
  /**
   * MQTT connections that publish the messages, instead of requests to the ingest: natively, without a VU or JavaScript for each. `rate`
   * are opened a second, up to `connections`, and held until the load is over. The profile says how many messages are due in all. Connections
   * take turns in rounds of random order, so each publishes every (connections ÷ rate of messages) s on average, and at least 0 and at most
   * twice that apart. For `scenarios({ pump: true })`. All of a message's way is then `delivery`, and the latency of a request
   * is the time until its PUBACK (`qos` 1; default 0). Figures of the report say how many connections were held, refused and lost.
   */
  publishers?: {
    url: string;
    username?: string;
    password?: string;
    qos?: 0 | 1;
    connections: number;
    rate: number;
    /** More brokers beside `url`: the connections go to each in turn. */
    more?: string[];
  };
  /**
   * One message a second beside the load, over connections of its own and to a topic of its own (`canary/<run>`), to tell a slow
   * pipeline from a saturated instrument. It is no part of the account. Default true.
   */
  canary?: boolean;
  /**
   * Messages have arrived when they are in the queue of a pipeline that has no relays: the run reads them there, in the place of MQTT, and
   * deletes what it has read. `kind` is that of the pipeline's `QUEUE`, `stream` by default; the user of `url` may give XREAD and XDEL, or BLMPOP.
   * Wants `canary: false` and flows of one delivery. The stages relay and delivery are not there.
   */
  queue?: { url: string; kind?: 'stream' | 'list' };
  /**
   * There is no broker: messages have arrived when their request is answered with 2xx, and what is measured is HTTP. Wants `canary: false`,
   * flows of one delivery, and no `mqtt`, `queue` or `publishers`.
   */
  answers?: boolean;
  /**
   * Generator and pipeline are on one machine although their addresses do not say so (network namespaces): it has one clock, and they
   * share its cores. Default: true where all addresses are loopback.
   */
  oneHost?: boolean;
  /**
   * Looks one message in so many up in the trace lists of the pipeline (`TRACE_LOG_EVERY`, the same number or a divisor of it), and reports how far
   * what they say is from the measurement of all: `sampled` of run.json and of its steps. The lists are deleted afterwards. For a run with
   * `redis`. Default 0: none.
   */
  sampled?: number;
  /**
   * Traces of messages, 0 (default: none) to 10,000: of up to so many deliveries of the measured phases, evenly over the run, and of the slowest
   * and those that did not arrive, which `messages` of run.json names. Each request then has a W3C header `traceparent`; that of a batch is its
   * first message's. After the run OTLP spans are written to `traces.otlp.json`, and sent to `OTEL_EXPORTER_OTLP_ENDPOINT` where it is set.
   */
  traces?: number;
  /** How far the clocks of generator and pipeline may be apart; a wider bound makes the run invalid. */
  clock?: { limit?: Duration };
  /** How long a request may take; past it the message is `unknown` unless it arrives. Default 10 s. */
  timeout?: Duration;
  /** How long after the last answer messages may arrive. Default 30 s. */
  drain?: Duration;
  /** How long nothing may arrive in the drain before the run ends. Default 10 s. */
  idle?: Duration;
  /**
   * Part of every id: 4 to 32 small letters and digits, new for each run. Default: drawn. Wanted where several k6 instances do a run
   * together, each with its `--execution-segment` of one `--execution-segment-sequence` on its command line: they send what one
   * would, at the same times, each to topics of its own (`<prefix><target>/<generator>/<number>`, unless `mqtt.filter` is set),
   * and begin together, by the clock of Redis. `senders`, `vus` and `publishers.connections` are those of all of them together. Each
   * leaves its report in `generator-<number>` of the run's directory; `k6 x arrival merge` makes one of them.
   */
  runId?: string;
  /** How long an instance waits until all are ready; after it nothing is sent. Default 60 s. */
  gather?: Duration;
  /** Names the run's directory: `<name>-<topology>-<network>-<time>`. Defaults `run`, `single`, `loopback`. */
  name?: string;
  topology?: string;
  network?: string;
  /** Free texts for the report. */
  labels?: Record<string, string>;
  /** What is known of the pipeline, versions and settings, for the report: `environment.pipeline` of run.json. */
  facts?: Record<string, string | number | boolean>;
  /** Folder that holds the runs, default `reports/runs`; a path or a `file://` URL. */
  runs?: string;
  /** The run's own directory, instead of a new one in `runs`. One that holds a run already is refused. */
  dir?: string;
  /** What the report says to repeat the run. Default: k6's own command line, secrets left out. */
  command?: string;
}

/** A request that a script sends by itself. */
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
  constructor(options: RunOptions);

  /**
   * Part of every id of this run, so that leftovers of an earlier one never enter it; with the number of the generator behind it where
   * the run has several.
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
   * A script's thresholds, and those of the rules that every run is judged by, so that k6 ends with 99 where one does not hold:
   * `arrival_invalid`, `arrival_lost` (QoS 1 and 2), `arrival_queued`, `arrival_dead_lettered`, `arrival_unknown` and
   * `arrival_rejected` are 0. A script's own threshold on one of the last four takes the place of the rule, one on `arrival_lost`
   * stands beside it. Without `thresholds()` the run is judged all the same, and k6 ends with 110.
   *
   * How many deliveries have to arrive in time is `{ 'arrival.within(250ms)': ['>= 99.9%'] }`, or in k6's words
   * `{ arrival_within_250ms: ['value>=0.999'] }`: of the measured phases, with us, ms or s.
   */
  thresholds(own?: Record<string, string[]>): Record<string, string[]>;

  /**
   * Subscribes, lets the senders go, and returns when everything is in, when nothing more comes (`idle`), or at the `drain`
   * limit. Messages that did not arrive are then looked for in Redis. Ends the test when Redis or the broker can't be used.
   */
  collect(): void;

  /**
   * Takes the next request of the schedule, waits until it is due, posts it. False when there is none left. In the closed model it
   * goes on, one request after the other, until the load is over.
   */
  send(): boolean;

  /**
   * Sends until the schedule is empty, `inFlight` requests at a time and without JavaScript in between, which takes less CPU a
   * request than `send()`. For the sender of `scenarios({ pump: true })`.
   */
  pump(): void;

  /**
   * Takes one request and waits like `send()`, but leaves the sending to the script, which calls `settle()` afterwards. Null after
   * the last. In the closed model a VU calls it in a loop, as its scenario has one iteration; or in iterations of a scenario of the
   * script's own, whose VUs must be no more than the phase has. There it can choose the flow, in each call or in none: the weights are
   * then those that the script makes come true.
   */
  next(flow?: string): Slot | null;

  /**
   * Tells the ledger the HTTP status of a request from `next()`; 0 means that there was no answer. Once for each, within its iteration
   * and `timeout` (and 1 s more): otherwise it is taken for one without an answer.
   */
  settle(slot: Slot, status: number): void;

  /**
   * run.json as it stands, without histograms; after `collect()` it is that of the whole run. What a script
   * finds in it can become a figure, or a k6 metric with a threshold. Throws before the run has begun.
   */
  result(): import('./run.gen.js').Run;

  /** How long the native sender's connections to the ingest took to open, with TLS, in ms; `count` says how many there were. */
  connections(): import('./run.gen.js').Latency;

  /**
   * A figure of the script's own for the report and the terminal: `run.figure('time to drain', 3.2, 's')`. One that is no finite
   * number is reported as not available. The last one of a name counts.
   */
  figure(name: string, value: number, unit: string): void;
  /**
   * What the run answers, in a sentence, for the first line of the terminal, the page and `summary.md`: `run.answer('The backlog drained
   * in 3.2 s.')`. Without it they say what the load's model lets them. It is not shown where the run is not to be trusted or was cut off.
   */
  answer(sentence: string): void;

  /**
   * To be exported as `handleSummary`: writes run.json and index.html, and returns the summary for the terminal. Throws while the test
   * goes on: `result()` is the run so far.
   */
  summary(data?: object): Record<string, string>;
}
