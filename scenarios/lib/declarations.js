// The settings of every script. --help, the check before a run and the table of scenarios/README.md come from here.
// A setting is a line: NAME: kind(default, unit, meaning, range); '' means that there is no default.
// Each group is a function, so that a VU makes only the settings of its script.
/** @import { Derived, Range } from './env.js' */
import { choice, count, countOrNames, flag, number, numbers, read, text } from './env.js';

const PAYLOAD = { max: 1_048_576, whole: true };
const TRACED = { max: 10_000, whole: true };
const SPANNED = { min: 1, max: 1_000_000, whole: true };
const DAY = { min: 0.1, max: 86_400 };
/** s: the longest phase of a profile */
const WEEK = 604_800;

/** Settings of every script; setting() reads them. */
export const every = () => ({
  PAYLOAD_BYTES: number('', 'bytes', 'of payload in each message (mostly 64); not with SPEC or CSV', PAYLOAD),
  TARGETS: countOrNames('targets of each flow (most have 100), or their names: a,b', 100_000),
  TARGETS_FILE: text('', 'a file with these names, one a line, or CSV: {{row.tenant}} in BODY'),
  CANARY: choice(['true', 'on', 'false', 'off'], 'false or off: no message a second beside the load'),
  SESSION: choice(
    ['clean', 'persistent'],
    'persistent: the broker keeps messages while a subscriber is away',
  ),
  CLOCK_LIMIT: text('', 'the widest clock bound of a run that passes, like 1ms'),
  TRACES: number(0, '', 'messages with a trace, beside the slowest and the missing; 0: none', TRACED),
  SPANS: text(
    '',
    'where the pipeline sends its OpenTelemetry spans, for stages, like :4318; files: joined later',
  ),
  SPANS_ONE_IN: number(100, '', 'sample one message in N (with SPANS)', SPANNED),
  SPANS_MARKS: text('', 'a file of spans.marks, like that of k6 x arrival spans --suggest'),
  VERIFY: text(
    '',
    'compare the bytes of every message (1), of one in n (100), or of none (off: the pipeline rewrites them)',
  ),
  LABELS: text('', 'build=17,branch=main, for the list of runs and for comparisons'),
  ID_KEY: text('id', 'key of the id in a message, like meta.id'),
  QUEUE_PREFIX: text('', "before the pipeline's keys in Redis, if it is not the running one (arrival)"),
  RUN_ID: text('', 'new for each run; the same for all instances of a run'),
  GATHER: number(60, 's', 'that several instances wait for each other', DAY),
  RUN_DIR: text('', 'the directory of the run: new or empty'),
});

/** Settings of scripts that fill or empty the queue themselves. */
export const queue = () => ({
  QUEUE_URL: text('', "the Redis with the queue, if it is not the running pipeline's"),
  QUEUE: choice(['stream', 'list'], 'the kind of that queue'),
});

/** Settings of scripts with their own connections to the broker. */
export const broker = () => ({
  BROKER_URL: text('', "the broker, if it is not the running pipeline's"),
});

/** Settings of scripts with random bodies. */
export const bodies = (spec = '') => ({
  SPEC: text(spec, 'keys and types of random payloads: string, int, float, boolean'),
  SPEC_FILE: text('', 'a JSON file instead: ranges, lengths, allowed values, nested objects'),
  SEED: number(1, '', 'the seed of random bodies', { max: 1e15, whole: true }),
});

/** Scripts that measure HTTP alone with INGEST_URL and no MQTT_URL. */
export const withoutBroker = ['fuzz', 'fixed'];

/** Settings of scripts that can read the pipeline's trace lists. */
export const samples = () => ({
  SAMPLED: flag(false, 'true: also reads the trace lists in Redis'),
  TRACE_LOG_EVERY: number(100, '', 'with SAMPLED: the lists have one message in so many', { whole: true }),
});

const rate = (/** @type {number} */ fallback, /** @type {Range} */ range = {}) =>
  number(fallback, 'requests/s', 'of the load', { min: 0.001, max: 1e6, ...range });
/**
 * @template {number | Derived} F
 * @param {F} fallback
 * @param {string} meaning
 * @param {Range} [range]
 */
const seconds = (fallback, meaning, range) => number(fallback, 's', meaning, { max: WEEK, ...range });
/** Settings of scripts that load one stage. */
const steady = () => ({
  RATE: rate(1000, { min: 1 }),
  DURATION: seconds(20, 'of the load', { min: 0.5 }),
});
/**
 * @template {0 | 1 | 2} Q
 * @param {Q} fallback
 * @param {readonly Q[]} levels ascending
 */
const qos = (fallback, levels) => {
  const kind = number(fallback, '', 'MQTT quality of service', { max: levels.at(-1), whole: true });
  return { ...kind, parse: (/** @type {string} */ text) => /** @type {Q} */ (kind.parse(text)) };
};
/** HOPS: the field in which your own pipeline puts its stamps. */
const hops = () =>
  text('', 'the field with the stamps: of the header, or a path in the message like meta.hops');
/** Settings of the webhook that your own pipeline calls. */
const webhooks = () => ({
  WEBHOOK_ADDRESS: text('127.0.0.1:9000', 'where the run listens; :9000 for all addresses'),
  WEBHOOK_PATH: text('/', 'the path that the pipeline calls'),
  WEBHOOK_URL: text('', 'by which it reaches the run, if that is not the address'),
  WEBHOOK_SECRET: text('', 'of Standard Webhooks, whsec_…; in the environment, not on a command line'),
  WEBHOOK_SIGNATURE: text('', 'a header field instead, like X-Hub-Signature-256: sha256={{sha256:hex}}'),
  WEBHOOK_CERT: text('', "a PEM file with the listener's certificate, for HTTPS"),
  WEBHOOK_KEY: text('', 'a PEM file with its key'),
  HOPS: hops(),
});
/** Settings of the clients that your own pipeline pushes to. */
const clients = () => ({
  WEBSOCKET_URL: text('', 'ws:// or wss://, with {{target}} where each client has its own'),
  WEBSOCKET_PROTOCOL: text('', 'the sub-protocol'),
  WEBSOCKET_SEND: text('', 'what a client sends first, like {"subscribe":"{{target}}"}'),
  WEBSOCKET_AWAIT: text('', 'a text in the answer to it, which the run waits for'),
  SSE_URL: text('', 'of server-sent events; http:// or https://, with {{target}} or without'),
  CLIENTS: count('', '', 'connections; by default as many as a message has deliveries', { max: 20_000 }),
  CLIENT_HEADERS: text('{}', 'header fields of these connections, as JSON'),
  HOPS: hops(),
});
/** Settings of the place where the messages of your own pipeline end. */
export const arrivals = () => ({
  ARRIVE: choice(['mqtt', 'webhook', 'websocket', 'sse'], 'where messages end'),
  TOPIC_PREFIX: text('messages/', 'before the target in a topic; may be empty', { empty: true }),
  FILTER: text('', 'one topic filter for all, like devices/+/events, without canary'),
  QOS: qos(1, [0, 1, 2]),
  MQTT_VERSION: choice(['5', '3.1.1'], 'of the subscribers'),
  ...webhooks(),
  ...clients(),
});
/** Scripts that need your own pipeline. Others need it too, unless messages end in MQTT. */
export const ownOnly = ['webhook', 'push'];
/** Settings of the requests that your own pipeline takes. */
const requested = () => ({
  INGEST_PATH: text('', 'the path of the POST (/messages); may have {{target}}'),
  HEADERS: text('{}', 'more header fields, as JSON; in the environment where one is secret'),
  BODY: text(
    '',
    'the message, with {{id}}, {{target}}, {{payload}}, {{webhook}}, {{now}}, {{n}}, {{random}}',
  ),
  BODY_FILE: text('', 'a file with it'),
  ID_FORMAT: choice(['text', 'number', 'uuid'], 'of ids; number: 16 digits, without quotes in BODY'),
  ID_FROM: text('', 'where ids arrive, like json:$.meta.id, base64:json:$.id or header:x-id; VERIFY is off'),
  TARGET: text('user', 'messages go round TARGET/0, TARGET/1 and so on'),
  DELIVERIES: count(1, '', 'subscribers of each target', { max: 32 }),
  TIMEOUT: timeout(),
  RETRIES: number(0, '', 'how often a request is repeated', { max: 100, whole: true }),
  KEEPALIVE: flag(true, 'false: a connection for each request'),
  STAGES: text('', 'of your pipeline, in order, like request,api,outbox,worker,push'),
});
/** Settings of a pipeline of your own, which every script takes but those of `cannot`; setting() reads them. */
export const ownPipeline = () => ({ ...requested(), ...arrivals(), ...bodies(), ...samples() });
/** Why a script is not for a pipeline of your own. */
const CANNOT = /** @type {Record<string, string>} */ ({
  ingest: 'it reads the queue of the pipeline that is started',
  queue: 'it writes into the queue itself',
  broker: 'it publishes to the broker itself',
  connections: 'its devices publish to the broker themselves',
  throughput: 'its clients publish to the broker themselves',
  matrix: 'it compares topologies of the pipeline that is started',
});
/** Settings of one steady load. */
const steadyLoad = () => ({
  RATE: rate(100),
  DURATION: seconds(30, 'at RATE', { min: 1 }),
  WARMUP: seconds(5, 'at RATE before, not measured', { min: 0.1 }),
  P99: limit(250),
  ...senders(),
});
/** SENDERS of scripts whose native senders grow by themselves. */
const senders = () => ({
  SENDERS: count('', '', 'requests under way at most (as RATE needs, up to 4000)', {
    max: 10_000,
  }),
});
/** CONNECTIONS of scripts that have the same limit under that name. */
const connections = (/** @type {string} */ more = '') =>
  count('', '', `HTTP connections at most (as RATE needs, up to 4000)${more}`, {
    max: 10_000,
  });
const timeout = () => seconds(10, 'that a request may take', DAY);
const limit = (/** @type {number} */ fallback, /** @type {Range} */ range = {}) =>
  number(fallback, 'ms', 'of arrival p99 at which the run fails', range);
const requests = (/** @type {string} */ of) =>
  count('', '', `requests of ${of}, which ends when they are answered`);
/** A duration; with REQUESTS only an upper bound. */
const longest =
  (/** @type {number} */ fallback) =>
  (/** @type {Record<string, unknown>} */ { REQUESTS }) =>
    REQUESTS ? 3600 : fallback;
const after = (/** @type {Record<string, unknown>} */ { AFTER }) => Number(AFTER);
/** A duration of ramp.js, which may have a unit: 1m30s. */
const span = (/** @type {string} */ phase) => text('', `s of the phase ${phase}, instead of the profile's`);

/** Settings of each script of scenarios/, in reading order. */
export const scripts = {
  smoke: () => ({ RATE: rate(50), DURATION: seconds(5, 'of the load', { min: 0.1 }), ...senders() }),
  ramp: () => ({
    PROFILE: text('profiles/ramp.yml', 'a file with phases and flows, seen from scenarios/'),
    WARMUP_RATE: number('', 'requests/s', "before the ramp, instead of the profile's"),
    RATE: number('', 'requests/s', "after the ramp, instead of the profile's"),
    WARMUP_DURATION: span('warm-up'),
    RAMP_DURATION: span('ramp'),
    SUSTAINED_DURATION: span('sustained'),
    ...senders(),
    P99: limit(250),
  }),
  sweep: () => ({
    CONCURRENCY: numbers('1..20', '', 'requests in flight, a step each'),
    STEP_DURATION: seconds(10, 'of a step', DAY),
    DRAIN: seconds(60, 'for all messages of a step to arrive before the next one begins', { max: 86_400 }),
    PROFILE: text('', 'a file with steps, instead of CONCURRENCY and STEP_DURATION'),
    P99: number(250, 'ms', 'of arrival p99 allowed at the rate that the report names', { min: 0.1 }),
  }),
  phases: () => ({
    WARMUP_RATE: count(100, 'sessions/s', 'begun in the warm-up'),
    RATE: count(200, 'sessions/s', 'begun after the ramp'),
    WARMUP_DURATION: seconds(60, 'of the warm-up', { min: 1 }),
    RAMP_DURATION: seconds(60, 'of the ramp', { min: 1 }),
    SUSTAINED_DURATION: seconds(60, 'at RATE', { min: 1 }),
    THINK: number(1, '', 'sessions think so many times 2 or 5 s', { max: 1000 }),
    MAX_SESSIONS: count(4000, '', 'sessions that go on at once', { max: 10_000 }),
    TIMEOUT: seconds(10, 'that a request may take; one that takes longer fails the run', DAY),
    P95: number(1000, 'ms', 'of HTTP p95 at which the run fails'),
    CSV: text('data/posts.csv', 'rows that sessions send, seen from scenarios/'),
    CAPTURE: text('accepted', "what of an answer goes into the session's next request"),
    LOGIN_URL: text('', 'asked for a token before the run'),
    LOGIN_USER: text('k6', 'the user that logs in there'),
    LOGIN_PASSWORD: text('', 'the password; in the environment, not on a command line'),
    LOGIN_TOKEN: text('token', 'where the token is in the answer'),
  }),
  fuzz: () => ({
    CONCURRENCY: numbers('10,100,500,1000', '', 'requests in flight, a step each'),
    REQUESTS: requests('each step'),
    STEP_DURATION: seconds(longest(10), 'of a step; with REQUESTS at most, by default 3600', DAY),
    ...bodies('[userId,string,userAge,int,score,float,ok,boolean]'),
  }),
  fixed: () => ({
    CONCURRENCY: count(50, '', 'connections, each with one request at a time', { max: 10_000 }),
    REQUESTS: requests('the run'),
    DURATION: seconds(longest(30), 'of the run; with REQUESTS at most, by default 3600', DAY),
    KEEPALIVE: flag(true, 'false: a connection for each request'),
  }),
  matrix: () => ({
    RATE: rate(200, { min: 1, max: 1e6 }),
    DURATION: seconds(10, 'at RATE', { min: 0.5, max: 86_400 }),
    WARMUP: seconds(2, 'before, not measured', { min: 0.1 }),
    CONNECTIONS: connections('; 64 with ALONE'),
    ALONE: flag(false, 'true: as fast as it goes, against a server that answers and passes nothing on'),
  }),
  sessions: () => ({
    SESSIONS: count(300, 'sessions/s', 'begun, each on a new connection'),
    CALLS: count(10, '', 'requests of a session, one after the other', { max: 10_000 }),
    DURATION: seconds(30, 'in which sessions begin', { min: 1, max: 86_400 }),
    MAX_SESSIONS: count(1000, '', 'sessions that go on at once; one more fails the run', { max: 10_000 }),
    TIMEOUT: timeout(),
  }),
  capacity: () => ({
    RATE: rate(1000, { min: 1, max: 1e6 }),
    WARMUP: seconds(2, 'of a ramp up to RATE before it', { min: 0.1 }),
    DURATION: seconds(10, 'at RATE', { min: 1, max: 86_400 }),
    P99: limit(100, { min: 1 }),
    DRAIN: seconds(10, 'for messages in flight to arrive', { min: 1 }),
    ...senders(),
  }),
  spike: () => ({
    RATE: number(200, 'requests/s', 'before and after the burst', { min: 1 }),
    SPIKE_RATE: number(4000, 'requests/s', 'of the burst', { min: 1 }),
    BEFORE: seconds(20, 'before the burst', { min: 1 }),
    SPIKE_DURATION: seconds(5, 'of the burst', { min: 0.1 }),
    AFTER: seconds(40, 'after the burst', { min: 1 }),
    ...senders(),
    BACK: number(2, '', 'p99 is back at so many times the worst one before', { min: 1, max: 1000 }),
    DRAIN_LIMIT: seconds(after, 'to drain the backlog, or the run fails; by default AFTER'),
    BACK_LIMIT: seconds(after, 'until p99 is back, or the run fails; by default AFTER'),
  }),
  soak: () => ({
    HOURS: number(2, 'h', 'of the load', { min: 0.001, max: 168 }),
    RATE: rate(200, { min: 1 }),
    ...senders(),
    LINE_MINUTES: number(60, 'minutes', 'between two lines on the terminal', { min: 0.02 }),
    GROWTH_LIMIT: number(32, 'MB', 'that a process of the pipeline may grow by, or the run fails'),
    DRIFT_LIMIT: number(50, 'ms', 'that p99 may grow by, or the run fails'),
  }),
  ingest: () => ({
    ...steady(),
    CONNECTIONS: connections(),
    ...queue(),
  }),
  queue: () => ({
    ...steady(),
    SENDERS: count(32, '', 'VUs that write, each one message at a time', { max: 1000 }),
    ...queue(),
  }),
  broker: () => ({
    ...steady(),
    QOS: qos(1, [0, 1]),
    SENDERS: count(16, '', 'connections that publish, each one message at a time', { max: 1000 }),
    ...broker(),
  }),
  connections: () => ({
    CONNECTIONS: count(15_000, '', 'MQTT connections', { max: 60_000 }),
    CONNECT_RATE: number(160, 'connections/s', 'opened', { min: 1, max: 10_000 }),
    DURATION: seconds(30, 'with all of them', { min: 1 }),
    EVERY: seconds(6, 'between two messages of a connection, on average', DAY),
    QOS: qos(1, [0, 1]),
    CANARY_P99: number(50, 'ms', 'of canary p99 at which the run fails', { min: 0.1 }),
    ...broker(),
  }),
  throughput: () => ({
    CLIENTS: count(100, '', 'clients at the end', { max: 1000 }),
    STEP: seconds(1, 'until there is one client more', { min: 0.5, max: 3600 }),
    QOS: qos(0, [0, 1]),
    ...broker(),
  }),
  webhook: () => ({
    LATE: number(0, '', 'share of calls that the run answers LATE_SECONDS late', { max: 1 }),
    LATE_SECONDS: seconds(1, 'that such an answer is late', { min: 0.001, max: 300 }),
    REFUSE: number(0, '', 'share of calls that it refuses', { max: 1 }),
    REFUSE_STATUS: number(503, '', 'the status of such an answer', { min: 300, max: 599, whole: true }),
    ARRIVE: choice(['webhook'], 'where messages end'),
    ...steadyLoad(),
  }),
  push: () => ({
    ARRIVE: choice(['websocket', 'sse'], 'how the pipeline pushes'),
    TARGET: text('room', 'messages go round TARGET/0, TARGET/1 and so on'),
    DELIVERIES: count(5, '', 'receivers of each message', { max: 32 }),
    CLIENTS: count(1000, '', 'connections that are held, a multiple of DELIVERIES', { max: 20_000 }),
    ...steadyLoad(),
  }),
  own: () => ({
    ...steadyLoad(),
    PROFILE: text('', 'a file with phases and flows, instead of RATE, DURATION and WARMUP'),
  }),
};

/** Settings of a campaign, beside those of its script. */
export const workers = () => ({
  RELAYS: numbers('1,2,4', '', 'relay processes, a run of each number in each mode', { max: 64 }),
});

/** Further variables that lib/setting.js reads. */
export const PLACES = [
  'INGEST_URL',
  'INGEST_TOKEN',
  'MQTT_URL',
  'REDIS_URL',
  'TLS_CA',
  'STACK_DIR',
  'TOPOLOGY',
  'NETWORK',
];

/**
 * Whether a script is not for a pipeline of your own.
 * @param {string} script
 */
export const cannotMeasure = (script) => script in CANNOT;

/**
 * All settings of a script.
 * @param {string} [script] a name that `scripts` lacks is a script of your own
 * @returns {import('./env.js').Declarations}
 */
export function settingsOf(script = '') {
  const own = /** @type {Record<string, () => import('./env.js').Declarations>} */ (scripts)[script]?.();
  return { ...every(), ...(!cannotMeasure(script) && ownPipeline()), ...own };
}

/**
 * Why a script refuses a setting of a pipeline of your own; undefined: it has none that it would ignore.
 * @param {string} script
 * @param {Record<string, string | undefined>} env
 */
export function refusalOf(script, env) {
  const known = settingsOf(script);
  const ignored = Object.keys(ownPipeline()).find((name) => env[name] && !(name in known));
  if (!cannotMeasure(script) || ignored === undefined) return undefined;
  return `${ignored} is set for a pipeline of your own, which ${script} cannot measure, as ${CANNOT[script]}: leave it out`;
}

/**
 * Settings of other scripts that the environment has, and this one would ignore. With -e they are refused; a variable of
 * the environment may be meant for another program. It has the addresses of servers for all scripts.
 * @param {string} script
 * @param {Record<string, string | undefined>} env
 */
export function ignoredBy(script, env) {
  const known = { ...settingsOf(script), ...queue(), ...broker() };
  const others = Object.values(scripts).flatMap((declared) => Object.keys(declared()));
  return [...new Set(others)].filter((name) => env[name] && !(name in known));
}

/**
 * Says which settings are ignored; undefined: none is.
 * @param {readonly string[]} names
 * @param {string} whose
 */
export function ignoredLine(names, whose) {
  if (names.length === 0) return undefined;
  const [are, settings] = names.length === 1 ? ['is', 'it is no setting'] : ['are', 'they are no settings'];
  return `${names.join(', ')} ${are} set in the environment and ignored, as ${settings} of ${whose}`;
}

/**
 * Throws when a setting is set that a script does not have: ./k6 lists those of flags in ARRIVAL_GIVEN.
 * @param {string} script
 */
export function refuseUnknown(script) {
  const refusal = refusalOf(script, __ENV);
  if (refusal !== undefined) throw new Error(refusal);
  const allowed = [...Object.keys(settingsOf(script)), ...PLACES].sort();
  const given = (__ENV.ARRIVAL_GIVEN ?? '').split(',').filter((name) => name && !name.startsWith('K6_'));
  const unknown = given.find((name) => !allowed.includes(name));
  if (unknown) throw new Error(`${unknown} is not a setting of ${script}; allowed: ${allowed.join(', ')}`);
}

/**
 * The values of a script's own settings. Throws when one is set that it does not have.
 * @template {keyof typeof scripts} N
 * @param {N} script
 */
export function settings(script) {
  refuseUnknown(script);
  // Once: __VU 0 loads the script, and again makes its summary. npm run has said it already.
  const line = __VU === 1 && !__ENV.ARRIVAL_COMMAND && ignoredLine(ignoredBy(script, __ENV), script);
  if (line) console.warn(line);
  return read(/** @type {ReturnType<(typeof scripts)[N]>} */ (scripts[script]()));
}
