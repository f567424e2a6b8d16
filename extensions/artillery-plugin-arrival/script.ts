/** Artillery's script, as far as the plugin reads and changes it. */

export interface Script {
  config: Record<string, unknown>;
  scenarios: Record<string, unknown>[];
}

/** `config.plugins.arrival` of a script. */
export interface ArrivalOptions {
  /** A file with phases and flows, seen from the script. */
  profile: string;
  /** What stands before a target in its topic. Default `messages/`. */
  prefix?: string;
  /** Of the subscriptions: 0, 1 or 2, default 1. */
  qos?: 0 | 1 | 2;
  /** One topic filter for all, like `devices/+/events`, in place of prefix and target. Without canary. */
  filter?: string;
  /** Of MQTT: `5` (default) or `3.1.1`. */
  version?: '5' | '3.1.1';
  /** Header fields of each request. */
  headers?: Record<string, string>;
  /** The message, with {{id}}, {{target}} and {{payload}}; need not be JSON. */
  body?: string;
  /** Key of the id in a message: `id` (default), `meta.id`. */
  id?: string;
  /** How long after the last answer messages may arrive: seconds, or a text like `30s` (default). */
  drain?: number | string;
  /** How long nothing may arrive in the drain before the run ends. Default `10s`. */
  idle?: number | string;
  /** One message a second beside the load. Default true. */
  canary?: boolean;
  /** Thresholds: `{ arrival_p99: ['value<250'] }`. */
  limits?: Record<string, string[]>;
}
