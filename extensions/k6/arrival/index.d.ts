/**
 * k6/x/arrival: sends messages on a schedule, receives them at the other end of an asynchronous pipeline, and accounts for
 * every one.
 *
 * ```js
 * import { Run } from 'k6/x/arrival';
 * const run = new Run({ profile: open('./profiles/ramp.yml'), ingest: { url }, mqtt: { url }, redis: { url } });
 * export const options = { scenarios: run.scenarios(), thresholds: run.thresholds({ arrival_latency: ['p(99)<250'] }) };
 * export function subscriber() { run.collect(); }
 * export function sender() { run.send(); }
 * export const handleSummary = run.summary;
 * ```
 *
 * Metrics: `arrival_latency` (Trend, ms: arrived − due, one sample a delivery), and counters of messages at the end of the
 * run: `arrival_scheduled`, `_dropped`, `_rejected`, `_unknown`, `_arrived`, `_dead_lettered`, `_queued`, `_lost`,
 * `_duplicates`, `_reordered`, `_negative`, and `arrival_invalid` (reasons not to trust the instrument). The native sender
 * emits k6's `http_reqs`, `http_req_duration` and `http_req_failed`, tagged with `flow`.
 */

/** Seconds, or a number with its unit: `10`, `"10s"`, `"500ms"`, `"2m"`. */
export type Duration = number | string;

export interface RunOptions {
  /** The text of a profile (YAML: phases and flows), or the text and the name to show. */
  profile: string | { name: string; text: string };
  /**
   * Settings that replace those of named phases of the profile, as from the environment; empty and undefined change
   * nothing. Example: `{ ramp: { rampTo: __ENV.RATE } }`.
   */
  phases?: Record<string, { duration?: Duration; arrivalRate?: number | string; rampTo?: number | string }>;
  /** Where messages are posted. `path` takes one message, `batchPath` a JSON array of them. */
  ingest: {
    url: string;
    /** Sent as `Authorization: Bearer …`. */
    token?: string;
    /** Default `/messages`. */
    path?: string;
    /** Default `/messages/batch`. */
    batchPath?: string;
  };
  /** Where messages arrive: `mqtt://[user:password@]host:port`, or `mqtts://`; MQTT 5. */
  mqtt: {
    url: string;
    username?: string;
    password?: string;
    /** What stands before the target in a topic. Default `messages/`. */
    prefix?: string;
    /** 0 or 1, default 1. At 0 a lost message is counted, and no failure. */
    qos?: 0 | 1;
  };
  /** The Redis whose TIME is the clock of the stamps. Without it, stages between sender and subscriber are not told apart. */
  redis?: { url: string };
  /** Key of the id in a message's JSON, with dots between nested keys: `id` (default), `MsgID`, `meta.id`. */
  id?: string;
  /** VUs that send, 1 to 10,000. Default 64. Each waits for one answer at a time. */
  senders?: number;
  /** How long a request may take; past it the message is `unknown` unless it arrives. Default 10 s. */
  timeout?: Duration;
  /** How long after the last answer messages may arrive. Default 30 s. */
  drain?: Duration;
  /** How long nothing may arrive in the drain before the run ends. Default 10 s. */
  idle?: Duration;
  /** Names the run's directory: `<name>-<topology>-<network>-<time>`. Defaults `run`, `single`, `loopback`. */
  name?: string;
  topology?: string;
  network?: string;
  /** Free texts for the report. */
  labels?: Record<string, string>;
  /** Folder that holds the runs, default `reports/runs`; a path or a `file://` URL. */
  runs?: string;
  /** The run's own directory, instead of a new one in `runs`. */
  dir?: string;
  /** The page's template: `open('../reports/dist/index.html')`. Without it no page is written. */
  template?: string;
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
}

/**
 * The run of this process. Make it in the init context, once: all VUs share its schedule, ledger and clock. It does no I/O
 * there. Throws with the option's name, its value and what is allowed.
 */
export class Run {
  constructor(options: RunOptions);

  /** Part of every id of this run, so that leftovers of an earlier one never enter it. */
  readonly id: string;

  /**
   * Scenarios `subscriber` (one VU, one iteration) and `sender` (a pool of VUs that share as many iterations as the
   * schedule holds requests). They call the script's functions of the same names.
   */
  scenarios(): Record<string, object>;

  /**
   * A script's thresholds, and those that hold for every run unless the script has its own for the metric: `arrival_invalid`,
   * `arrival_lost` (QoS 1), `arrival_queued`, `arrival_dead_lettered` and `arrival_unknown` are 0.
   */
  thresholds(own?: Record<string, string[]>): Record<string, string[]>;

  /**
   * Subscribes, lets the senders go, and returns when everything is in, when nothing more comes (`idle`), or at the `drain`
   * limit. Messages that did not arrive are then looked for in Redis. Ends the test when Redis or the broker can't be used.
   */
  collect(): void;

  /** Takes the next request of the schedule, waits until it is due, posts it. False when there is none left. */
  send(): boolean;

  /** Waits like `send()`, but leaves the sending to the script, which calls `settle()` afterwards. Null after the last. */
  next(): Slot | null;

  /** Tells the ledger the HTTP status of a request from `next()`; 0 means that there was no answer. Once for each. */
  settle(slot: Slot, status: number): void;

  /** To be exported as `handleSummary`: writes run.json and index.html, and returns the summary for the terminal. */
  summary(data?: object): Record<string, string>;
}
