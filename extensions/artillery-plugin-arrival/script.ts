/** Artillery's script, as far as the plugin reads and changes it. */

export interface Script {
  config: Record<string, unknown>;
  scenarios: Record<string, unknown>[];
}

/** Which requests carry a message: `'POST /orders'`, `'send'`, `'emit order'`, a name, or a function of the processor. */
export type Messages = string | { name: string } | { function: string };

/** `config.plugins.arrival` of a script that keeps its own phases, with more options of new Run(). */
export interface RideAlongOptions {
  /** The requests that carry a message. */
  messages: Messages | Messages[];
  /** The path of the id, like `order.ref`, in messages that have no {{ $arrival.id }}. */
  id?: string;
  /** Where messages arrive: `{ webhook: { address: ':9000' } }`. Default: `mqtt`, from MQTT_URL. */
  arrive?: Partial<Record<'mqtt' | 'webhook' | 'websocket' | 'sse' | 'queue', object>>;
  /** Thresholds: `{ arrival_p99: ['value<250'] }`. */
  limits?: Record<string, string[]>;
  /** Names of phases whose messages are in the account, but not in the latency. */
  unmeasured?: string | string[];
  /** Targets of each flow: their number, or their names. */
  targets?: number | string[];
  /** Subscribers of each target. */
  deliveries?: number;
  /** As in new Run(). */
  [option: string]: unknown;
}

/** `config.plugins.arrival` of a script that follows a profile. */
export interface ArrivalOptions {
  /** A file with phases and flows, seen from the script. */
  profile: string;
  /** The prefix of a target's topic. Default `messages/`. */
  prefix?: string;
  /** The QoS of the subscriptions: 0, 1 or 2, default 1. */
  qos?: 0 | 1 | 2;
  /** One topic filter for all, like `devices/+/events`, in place of prefix and target. Without canary. */
  filter?: string;
  /** The version of MQTT: `5` (default) or `3.1.1`. */
  version?: '5' | '3.1.1';
  /** Header fields of each request. */
  headers?: Record<string, string>;
  /** The message, with {{id}}, {{target}} and {{payload}}; need not be JSON. */
  body?: string;
  /** Key of the id in a message: `id` (default), `meta.id`. */
  id?: string;
  /** Messages may arrive until this time after the last answer: seconds, or a text like `30s` (default). */
  drain?: number | string;
  /** The drain ends when nothing has arrived for this time. Default `10s`. */
  idle?: number | string;
  /** Whether one message a second goes round beside the load. Default true. */
  canary?: boolean;
  /** Thresholds: `{ arrival_p99: ['value<250'] }`. */
  limits?: Record<string, string[]>;
}
