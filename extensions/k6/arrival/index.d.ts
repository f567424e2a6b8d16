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
 * - Counters of messages: `arrival_scheduled`, `_dropped`, `_rejected`, `_unknown`, `_arrived`, `_altered`, `_misdelivered`,
 *   `_dead_lettered`, `_queued`, `_lost`.
 * - Counters of deliveries: `arrival_duplicates`, `_misdeliveries`, `_reordered`, `_negative`. Foreign ones have no metric.
 * - `arrival_requests_failed` (Counter): requests without a 2xx in the end, whether or not their messages arrived.
 * - `arrival_invalid` (Counter): limits that the instrument leaves undecided, and reasons to trust nothing.
 *
 * During the run `arrival_latency` (Trend, ms: arrived − due) serves dashboards: of every phase, with the warm-up; beyond 400,000 expected
 * deliveries one in n (`health.trend_one_in` of run.json). The native sender emits k6's `http_reqs`, `http_req_failed` and
 * `http_req_duration` (also one in n), tagged with `flow`.
 */

/** Seconds, or a number with its unit: `10`, `"10"`, `"10s"`, `"500ms"`, `"2m"`. */
export type Duration = number | string;

/** A threshold of k6: its expression, or an object with it. */
export type Threshold = string | { threshold: string; abortOnFail?: boolean; delayAbortEval?: string };

/**
 * A question is what a script asks of its run, and decides the sentence of the answer. Each kind names the facts that
 * it adds to `result().facts`, and the metrics of the script whose thresholds are limits of the figures in the answer.
 */
export type Question =
  /**
   * The run tells how fast the pipeline recovers from a burst, in `facts.recovery`. The burst is the one phase with at
   * least twice the rate of those beside it. p99 is back when it is at most `factor` times its worst second before the
   * burst: 1 to 1000, default 2. The metrics are `spike_drain_s` and `spike_p99_back_s`.
   */
  | { kind: 'recovery'; factor?: number }
  /**
   * The run tells whether latency and memory stay under a load at one rate, in `facts.drift` and `facts.memory`. The
   * metrics are `soak_latency_drift_ms` and `soak_memory_growth_mb`.
   */
  | { kind: 'steadiness' }
  /**
   * The run tells how many connections of `publishers` are held, and at what cost, in `facts.connections`. The metric
   * is `connections_canary_p99_ms`.
   */
  | { kind: 'connections' }
  /**
   * The run tells how many sessions of `calls` requests are carried, in `facts.sessions`. Each is an iteration of k6;
   * `perSecond` begin for `duration`.
   */
  | { kind: 'sessions'; perSecond: number; calls: number; duration: Duration }
  /** The run tells how much clients exchange as their number grows, in `facts.clients`. The profile has `vus`. */
  | { kind: 'exchange' };

/** Options of `new Run()`. Required are `profile` and `ingest`, and `mqtt` unless messages arrive elsewhere. */
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
   * Flows in place of the profile's, with the keys that those have, for a pipeline that takes other messages. Empty and undefined
   * change nothing. Example: `[{ name: 'order', target: 'shop', deliveries: 2 }]`.
   */
  flows?: {
    name: string;
    weight?: number;
    target?: string;
    targets?: number | string[];
    messages?: number;
    deliveries?: number;
    payloadBytes?: number;
  }[];
  /**
   * Replaces settings of all flows of the profile; empty and undefined values change nothing. `payloadBytes` (0 to 1,048,576) excludes
   * `fuzz`; `targets` is a number or a list of names. Example: `{ payloadBytes: __ENV.PAYLOAD_BYTES }`.
   */
  everyFlow?: { payloadBytes?: number | string; targets?: number | string | string[] };
  /** The server that messages are posted to. `path` takes one message, `batchPath` a JSON array of them. */
  ingest: {
    /** `http://host:port` or `https://host:port`. */
    url: string;
    /** Sent as `Authorization: Bearer …`. */
    token?: string;
    /** Begins with `/`, may have a query, and is sent as it is written, with `{{target}}` replaced. Default `/messages`. */
    path?: string;
    /** Default `/messages/batch`. */
    batchPath?: string;
    /** Further header fields of each request. */
    headers?: Record<string, string>;
    /** False: a connection for each request. Default true: one for each request in flight. */
    keepAlive?: boolean;
    /**
     * The most retries of a request, with the same ids, after no answer, 429 or a 5xx; 0 (default) to 100. A retry waits for
     * `Retry-After` (at most 30 s), else 0.1 s, doubling up to 5 s. A message is measured once, from due to its first arrival.
     */
    retries?: number;
  };
  /**
   * The broker that messages arrive at: `mqtt://[user:password@]host:port` (also `tcp`), `mqtts://` (`ssl`, `tls`), `ws://` or `wss://`,
   * with k6's TLS options. Required unless messages arrive elsewhere (`queue`, `answers`, `webhook`, `websocket`, `sse`).
   */
  mqtt?: {
    url: string;
    /** User of the broker, instead of that in `url`. */
    username?: string;
    /** The password of that user. */
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
   * some nodes, the clock first: `redis://user:password@one:6379,two:6379`. `prefix` is the pipeline's QUEUE_PREFIX, behind which the
   * run looks for missing messages, telemetry and trace lists; default `arrival`.
   */
  redis?: { url: string; prefix?: string };
  /**
   * Certificates of the authorities to trust beside the system's, for `https`, `mqtts`, `wss` and `rediss`: the text of a PEM file.
   * Certificates are always checked, unless k6 is configured otherwise (`insecureSkipTLSVerify`).
   */
  ca?: string;
  /**
   * A message of a pipeline of your own, with `{{id}}`, `{{target}}` and `{{payload}}` (as many `x` as the flow's `payloadBytes`) where
   * they belong: `{"MsgID":"{{id}}","to":"{{target}}"}`. It need not be JSON; the id must arrive unchanged, with no digit after it.
   * `{{webhook}}` is the URL of `webhook`, which needs a port then, or a `url`. `{{now}}`, `{{now.us}}` and `{{now.iso}}` are the time
   * in ms, in µs and as ISO 8601; `{{n}}` is the number of the message, `{{random}}` a whole number below 10⁹, `{{random.temp}}` a value
   * of that field of `fuzz.spec`, `{{row.tenant}}` one of `rows`.
   * Default: `{"id":"{{id}}","source":"k6","target":"{{target}}","payload":"{{payload}}"}`.
   */
  body?: string;
  /** What `{{row.tenant}}` in `body` stands for: by column, a value for each target of every flow, in their order. */
  rows?: Record<string, string[]>;
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
  /**
   * How ids are written. `text` (default): `<run>.<generator>.<number>`. `number`: a whole number of 16 digits below 2^53, in the default
   * body without quotes: `{"id":{{id}}}` in one of your own. `uuid`: `d0c1e8a4-6a1f-4c3e-8b2d-000000000041`. Several instances of a run
   * need `text`.
   */
  idFormat?: 'text' | 'number' | 'uuid';
  /**
   * The place of the id in an arriving message. By default it is found anywhere in the bytes of the payload, if it is as it was sent.
   * Otherwise list steps with `:` between them: `json:`, `cbor:` or `msgpack:` and a JSONPath, `base64`, `percent`. The first step may be
   * `header:` and a name, which in MQTT 5 is that of a user property. Examples: `json:$.meta.id`, `json:$.message.data:base64:json:$.id`,
   * `header:x-id`. Then `verify` is off, unless it is set.
   */
  idFrom?: string;
  /** VUs that send, 1 to 10,000. Default 64. In the closed model the profile's phases define them (`vus`). */
  senders?: number;
  /**
   * Requests under way at most, 1 to 10,000, with `send()` and `pump()` in the open model. Where all VUs wait for answers, more senders
   * join them, without VUs, so that requests go out when they are due. Default: what the highest rate needs if each request takes the
   * whole `timeout`, up to 4,000 and to the limit of open files. With `next()` there are as many as `senders`.
   */
  maxSenders?: number;
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
    /** The broker's address, like `mqtt.url`. */
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
   * One message a second beside the load, over separate connections and a separate topic (`canary/<run>`; where targets have names,
   * that of the first), to distinguish a slow pipeline from a saturated instrument. The account does not include it. Default true.
   */
  canary?: boolean;

  /**
   * Lets one message go round before the load, so that a wrong path, token or topic does not cost the whole load. It is repeated, under
   * new ids that are not part of the account, until one has arrived or `drain` (10 s at least) is over. The error names the end at which it
   * stopped. Default: as `canary`. With `mqtt.filter` there is no canary, but this.
   */
  greet?: boolean;
  /**
   * The queue of a pipeline without relays, from which the run reads messages instead of MQTT, and deletes them. `kind` is the pipeline's
   * `QUEUE`, by default `stream`; the user of `url` needs XREAD and XDEL, or BLMPOP. Needs `canary: false` and flows of one delivery. There
   * are no stages relay and delivery.
   */
  queue?: { url: string; kind?: 'stream' | 'list'; prefix?: string };
  /**
   * Measures HTTP alone, without a broker: a message has arrived when its request is answered with 2xx. Needs `canary: false`, flows of
   * one delivery, and no `mqtt`, `queue` or `publishers`.
   */
  answers?: boolean;
  /**
   * The script receives the messages, with any client that it can import, and hands them to `arrived()`. `consumers` VUs do so, by
   * default as many as a flow has deliveries at most; `scenarios()` has them, and each calls the script's function `consumer`. 0: those
   * that send receive too. Needs `canary: false`, and no `mqtt`, `queue`, `answers` or `publishers`; `greet: true` lets one message go
   * round before the load.
   */
  arrived?: { consumers?: number };
  /**
   * Messages arrive as HTTP requests (POST, PUT or PATCH): the run listens, and the pipeline calls. The id is looked for in the header
   * fields `webhook-id` (Standard Webhooks) and `ce-id` (CloudEvents), then in the body. A repeated call is a duplicate. Calls to
   * another path, refused ones and such are counted under `webhook` in the errors of the report, and are not arrivals. At most 1,000
   * connections are open at once, and a body has at most 16 MB. Flows need one delivery.
   */
  webhook?: {
    /** `host:port` to listen on. Default `127.0.0.1:0`; `:9000` is port 9000 of all addresses, and 0 a free port. */
    address?: string;
    /** The path of the calls. Default `/`. */
    path?: string;
    /** The URL at which the pipeline reaches the listener, if that is not its address; the value of `run.webhook.url`. */
    url?: string;
    /** The status of the answer, 200 to 299. Default 204. */
    status?: number;
    /** Answers so late to a share of the calls (0 to 1). The arrival is when the call came. */
    late?: { share: number; seconds: number };
    /** Refuses a share of the calls (0 to 1) with a status, by default 503: a message that is not sent again is lost. */
    refuse?: { share: number; status?: number };
    /** The header field with the stamps of the stages, as in the MQTT property `hops`. Default `arrival-hops`. */
    hops?: string;
    /** Checks the signature of Standard Webhooks (`whsec_…`): a call with a wrong one is answered 401 and is not an arrival. */
    secret?: string;
    /**
     * A header field with the HMAC of the body by `secret`, which then is any text, in place of Standard Webhooks':
     * `X-Hub-Signature-256: sha256={{sha256:hex}}`; also sha1 and sha512, and base64.
     */
    signature?: string;
    /** The text of a PEM file with the listener's certificate, for HTTPS; with `key`. */
    cert?: string;
    /** The text of a PEM file with its key. */
    key?: string;
  };
  /**
   * Messages are pushed over WebSocket connections that the run holds. With `{{target}}` in `url` there is a connection for each target
   * and delivery; with it in `send`, `connections` of them share the targets, and each message is due at as many as it has deliveries.
   * Without it each connection gets every message: flows need as many deliveries as there are connections, and `canary: false`. Text and
   * binary messages count alike. The run answers pings and sends them; a lost connection is restored, and the report has its gap. A
   * message has at most 16 MB.
   */
  websocket?: {
    /** `ws://` or `wss://`, with k6's TLS options. */
    url: string;
    /** Up to 20,000, a multiple of the largest number of deliveries, which is the default. Not with `{{target}}` in `url`. */
    connections?: number;
    /** The sub-protocol, which the server has to take. */
    protocol?: string;
    /** Header fields of the request that opens a connection. */
    headers?: Record<string, string>;
    /** Messages that a client sends first: those with `{{target}}` once for each of its targets, the others once. */
    send?: string[];
    /** A text in the server's answer to each message of `send`. The load begins when all have come. Default: no answer is waited for. */
    await?: string;
    /** The path of the stamps in a message of JSON (`meta.hops`): as in the MQTT property `hops`, or as a list. Default: none. */
    hops?: string;
  };
  /**
   * Messages are pushed as server-sent events over connections that the run holds; the data of an event is the message. `{{target}}` in
   * `url` is as for `websocket`. A lost connection is restored with `Last-Event-ID` after the server's `retry`, and the report has its gap.
   * A server that sends its header with the first event (WSGI) has 10 s for it; then the connection counts as open, and the report says so.
   */
  sse?: {
    /** `http://` or `https://`, with k6's TLS options. */
    url: string;
    /** Like `websocket.connections`. */
    connections?: number;
    /** Header fields of the request. */
    headers?: Record<string, string>;
    /** Like `websocket.connections`. */
    hops?: string;
  };
  /**
   * The stages of a pipeline of your own, in order: the names of those between sent and arrived, 1 to 11, of small letters, digits and _.
   * Your pipeline makes a stamp in `hops` where one ends and the next begins, so five stages have four stamps. Before them comes `schedule`.
   * Default: `['request', 'ingest', 'queue', 'relay', 'delivery']`. With `queue` and `answers` they end with that stage.
   */
  stages?: string[];
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
   * Whether messages arrive as they were sent: their length always, and the bytes of one in so many. A message that does not has its
   * own count in the account, `altered`, and breaks the run. 1: every message's bytes; `'off'`: the pipeline wraps or rewrites messages.
   * Otherwise the run ends before its load if the greeting (`greet`) arrives with other content.
   * Default 100; off where the script sends with `next()` and `settle()`, as it may send other bodies, unless `verify` is set. Payloads
   * with several ids are not compared.
   */
  verify?: number | string;

  /**
   * Traces of messages, 0 (default: none) to 10,000: of up to so many deliveries of the measured phases, evenly over the run, and of the slowest
   * and those that did not arrive, which `messages` of run.json names. Each request then has a W3C header `traceparent`; that of a batch is its
   * first message's. After the run OTLP spans are written to `traces.otlp.json`, and sent to `OTEL_EXPORTER_OTLP_ENDPOINT` where it is set.
   */
  traces?: number;
  /**
   * Stages from the pipeline's own OpenTelemetry spans: the run is an OTLP endpoint (HTTP with protobuf or JSON, and gRPC, on one port), to
   * which the pipeline exports (`OTEL_EXPORTER_OTLP_ENDPOINT=http://<listen>`). Each request has a `traceparent`, so a parent-based sampler
   * records the sampled messages only, and the trace id names the message. `spans` of run.json has the stages. What comes is also sent to
   * k6's own `OTEL_EXPORTER_OTLP_ENDPOINT` where it is set. At its end the run waits for the last spans: 6 s, or longer
   * than the pipeline took between two exports, without any; 30 s for the first one; 45 s at most.
   * Spans that go elsewhere are joined afterwards, from files: `k6 x arrival spans <run> <file>…`. It reads `traced.ndjson` of the run, which
   * has the newest 200,000 deliveries of sampled messages; `spans.ndjson.gz` has the spans that came, so other marks can be tried later. Of
   * several instances the first one has the endpoint, and merging joins the messages of all. Not with `traces` or `publishers`.
   */
  spans?: {
    /** `127.0.0.1:4318`; `:4318` for all addresses of this host; port 0 for a free one, which the report names. Default: no endpoint. */
    listen?: string;
    /** One message in this many is sampled, at most one of a request. Default 100. */
    oneIn?: number;
    /**
     * Which spans divide a message's time, in order; `k6 x arrival spans --suggest <run>` proposes some. Default: `received` (start of the
     * server's span), `queued` (of the producer's), `claimed` (of the consumer's), `published` (of the producer's or HTTP client's below the
     * consumer), as far as half of the sampled messages have them. Of nested spans the outermost counts. A message without a mark, or with
     * two, has no stages and is counted.
     */
    marks?: SpanMark[];
  };
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
   * times, each to its own topics (`<prefix><target>/<generator>/<number>`, unless `mqtt.filter` is set or targets have names), and begin together, by the clock
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
  /**
   * The question is what the script asks of the run. By default the answer is the rate that the pipeline holds.
   */
  question?: Question;
  /** The folder of runs, default `reports/runs`; a path or a `file://` URL. */
  runs?: string;
  /** The run's directory, instead of a new one in `runs`. A directory with a run is refused. */
  dir?: string;
  /** The command in the report that repeats the run. Default: k6's command line, without secrets. */
  command?: string;
}

/** A moment that a span gives. */
export interface SpanMark {
  /** Up to 16 small letters, digits and _. */
  mark: string;
  /** Which span; a name or service between slashes is a regular expression of Go, as in `'/bull/'`. */
  span: {
    kind?: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
    name?: string;
    service?: string;
  };
  /** Default `start`. */
  at?: 'start' | 'end';
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
  /** With `traces` or `spans`, the value of the header of that name; else empty. */
  readonly traceparent: string;
}

/** The payload of a message; a number is an id. */
export type Payload = string | number | ArrayBuffer | Uint8Array;

/** What `arrived()` can be told of a message. */
export interface Arrived {
  /**
   * When the client received it, in ms since 1970 with a fraction: `received` of k6/x/mqtt, `timestamp` of an event of k6/websockets.
   * Default: now. Then the time that the handler was late is part of the latency, which is then an upper reading.
   */
  at?: number;
  /**
   * Which subscriber received it, from 1: a second copy for one subscriber is a duplicate. Default: 1; where a flow has more than one
   * delivery, the number of the VU among the consumers.
   */
  subscriber?: number;
  /** The target whose recipient it is: a message for another target is misdelivered. Default: any target. */
  target?: string;
  /** The stamps that the pipeline made, as they came. Needs `redis`. */
  hops?: string;
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
   * The URL of the `webhook` listener, for pipelines where a callback address travels in the message. A free port (0) is chosen when the run
   * begins: after the first `next()`. Before, it throws.
   */
  readonly webhook?: { readonly url: string };

  /**
   * The scenarios of the run; they call the script's functions `subscriber` and `sender`, and `consumer` with `arrived`.
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
   * `arrival_lost` (QoS 1 and 2), `arrival_queued`, `arrival_altered`, `arrival_misdelivered`, `arrival_misdeliveries`,
   * `arrival_dead_lettered`, `arrival_unknown`, `arrival_rejected` and `arrival_requests_failed` are 0. A script's threshold on one of
   * these but `arrival_lost` and `arrival_invalid` replaces the rule; one on `arrival_lost` is additional.
   * Without `thresholds()` the run is judged too, and k6 exits with 110. Only a run that passes ends with 0: one that never began, or was
   * cut off, ends with 108.
   *
   * A limit on how many deliveries arrive in time, of the measured phases (us, ms or s): `{ 'arrival.within(250ms)': ['>= 99.9%'] }`,
   * or in k6's form `{ arrival_within_250ms: ['value>=0.999'] }`. k6's objects work too: `{ threshold: '>= 99.9%', abortOnFail: true,
   * delayAbortEval: '10s' }` ends the test.
   *
   * k6 gets the figures so far of this module's limits with abortOnFail each second: `arrival_p99`, `arrival.within`, and the counts that
   * are known before the end. A run that such a limit ended fails, or is undecided, with the limit and its value; its messages that were
   * on their way are pending.
   */
  thresholds(own?: Record<string, Threshold[]>): Record<string, Threshold[]>;

  /**
   * Subscribes, starts the senders, and returns when everything has arrived, when nothing more comes (`idle`), or at the `drain`
   * limit. Then it searches missing messages in Redis. It ends the test when Redis or the broker cannot be used. Where no scenario
   * calls it, the first `send()`, `next()` or `pump()` ends the test.
   */
  collect(): void;

  /**
   * Lets one message go round instead of a load, and prints each step: `k6 x arrival try`. k6 exits with 99 where it does not. All of
   * it takes `seconds` at most.
   */
  greet(seconds: number): void;

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
   * This VU receives every message that is sent from now on: call it in the function `consumer`, once its subscription holds. The load
   * begins when all consumers have called it; after 20 s the test ends. The promise resolves when the run has collected everything: then
   * close what the VU receives from. Until then the iteration goes on. One that ends earlier is a gap, and what is missing then is undecided.
   *
   * ```js
   * export function consumer() {
   *   const client = new Client(); // of k6/x/mqtt, as an example
   *   client.on('message', (topic, payload, { received }) => run.arrived(payload, { at: received }));
   *   client.connect(url);
   *   client.subscribe('events/#', { qos: 1 });
   *   run.subscribed().then(() => client.end());
   * }
   * ```
   */
  subscribed(): Promise<void>;

  /** False when the run has collected everything: `while (run.receiving()) { … }` for a consumer that polls. */
  receiving(): boolean;

  /**
   * Records messages that the script has received: a payload as it came, or the id alone; or a list of them, each perhaps with what
   * else is known of it. Messages of other runs are counted as foreign. After the end of the run it does nothing.
   *
   * The handler's lateness is how long the VU's event loop had been busy when it called. A consumer that blocks while it waits, as with
   * k6/http, has none that is known.
   */
  arrived(message: Payload, how?: Arrived): void;
  arrived(messages: (Payload | ({ payload: Payload } & Arrived))[], how?: Arrived): void;

  /**
   * The current run.json, without histograms; after `collect()` that of the whole run, in `handleSummary` with all limits judged. What
   * follows from the rest is in `facts`: a script makes figures of it, or k6 metrics with thresholds, and computes nothing. Throws
   * before the run has begun.
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
