/**
 * `k6/x/mqtt`: an MQTT client for k6 scripts, of version 3.1.1 or, with `protocol_version: 5`, 5. Scripts for
 * grafana/xk6-mqtt v0.3.0 run unchanged. `examples/` has a script for each thing it does.
 *
 * ```js
 * import { Client } from "k6/x/mqtt";
 *
 * export default function () {
 *   const client = new Client({ client_id: `vu-${__VU}` });
 *   client.on("message", (topic, payload) => {
 *     console.log(topic, String.fromCharCode(...new Uint8Array(payload)));
 *     client.end();
 *   });
 *   client.connect("mqtt://127.0.0.1:1883");
 *   client.subscribe("greeting", { qos: 1 });
 *   client.publish("greeting", "hello", { qos: 1 });
 * }
 * ```
 *
 * The iteration lasts until the client has ended: by `end()`, because the connection was lost, or because k6 stops
 * the VU. All handlers run on the VU's event loop, one at a time.
 *
 * **Errors.** Wrong arguments throw a `TypeError` that names the argument (the async forms reject with it). Everything
 * else is an {@link MQTTError}: it goes to the `error` handler when there is one, and the call returns (the promise
 * resolves) as if it were done; without a handler the call throws, the async form rejects.
 *
 * **Metrics**, all counters: `mqtt_calls` (one for each connect, reconnect, end, topic subscribed or unsubscribed,
 * publish and message delivered; a call that fails counts too), `mqtt_messages_sent`, `mqtt_messages_received`,
 * `mqtt_errors`, and k6's `data_sent` and `data_received` in payload bytes. Their tags: `proto` ("MQTT/3.1.1" or
 * "MQTT/5.0"), `client_id` (when set), `url` (of the server, without credentials and query), `method` ("connect",
 * "publish", "message", …), the VU's own tags and those given to `new Client`, `connect` and the call.
 *
 * @packageDocumentation
 */

/** Quality of service: 0 at most once, 1 at least once, 2 exactly once. */
export type QoS = 0 | 1 | 2;

/** Metric tags; values become strings. Each combination of values is a time series of its own. */
export type Tags = Record<string, string | number | boolean>;

/**
 * What to send: a string goes as UTF-8, bytes are copied at the call. Up to 268 435 451 bytes together with the topic
 * (and the properties), or what an MQTT 5 broker says it takes.
 */
export type Payload = string | ArrayBuffer | Uint8Array;

/**
 * User properties of a message, MQTT 5: text by name, an array where a message repeats the name. Names and values have
 * up to 65 535 bytes each, and no NUL. The order of different names is that of the object.
 *
 * @example
 * const user = { trace: "4bf92f35", hop: ["ingest", "relay"] };
 */
export type UserProperties = Record<string, string | string[]>;

/** Properties of a message, MQTT 5. */
export interface Properties {
  /** Default: none. On a message received it is always there. */
  user?: UserProperties;
}

/** A message the broker publishes when the client's connection breaks without `end()`. */
export interface Will {
  /** Topic to publish to; no wildcards. */
  topic: string;
  /** Content, up to 65 535 bytes. Default: empty. */
  payload?: Payload;
  /** Default 0. */
  qos?: QoS;
  /** Whether the broker keeps it for later subscribers. Default false. */
  retain?: boolean;
  /** Needs `protocol_version: 5`, or is a TypeError. */
  properties?: Properties | undefined;
}

/** User name and password to connect with. MQTT 3.1.1 allows no password without a user name, MQTT 5 does. */
export interface Credentials {
  /** Default: none. */
  username?: string;
  /** Default: none. */
  password?: string;
}

/** Options of `new Client`; all are optional. An unknown one is warned about. */
export interface ClientOptions extends Credentials {
  /**
   * Client identifier, unique on the broker: a second client with the same one disconnects the first.
   * Default: empty, the broker chooses. Also a metric tag.
   */
  client_id?: string;
  /**
   * Called before each connect and reconnect, instead of `username` and `password`. It can't be async.
   *
   * @example
   * new Client({ credentials_provider: () => ({ username: "subscriber", password: __ENV.MQTT_PASSWORD }) });
   */
  credentials_provider?: () => Credentials;
  /** Message the broker publishes when the connection breaks. Default: none. */
  will?: Will;
  /**
   * 4 (the protocol level of MQTT 3.1.1) or 5. Default 4. With 5 messages have user properties, errors say the broker's
   * reason, and a message that the broker refuses is an error instead of a silence. All else is the same.
   *
   * @example
   * const client = new Client({ protocol_version: 5 });
   * client.publish("orders", "17", { qos: 1, properties: { user: { trace: "4bf92f35" } } });
   */
  protocol_version?: 4 | 5;
  /** Tags for all metrics of this client. */
  tags?: Tags;
  /**
   * Adds a `topic` tag to the samples of publish, subscribe, unsubscribe and message. Default false: each topic is a
   * time series of its own, and topics with ids in them become very many.
   */
  tag_topic?: boolean;
}

/** Options of {@link Client.connect}; all are optional. */
export interface ConnectOptions {
  /** More servers, tried in order after the url until one takes the connection. */
  servers?: string[];
  /**
   * Seconds without traffic until the client pings the broker, 0 to 65535; 0 is off. Default 60. Without an answer within as long,
   * 10 s at most, the connection is lost.
   */
  keepalive?: number;
  /** Milliseconds each server has, from name look-up to CONNACK. Default 30000. */
  connect_timeout?: number;
  /**
   * Milliseconds that each `subscribe`, `unsubscribe` and `publish` has until the broker has answered it (QoS 0: until it is
   * written). After that the call fails; the connection stays. Default 30000. grafana/xk6-mqtt waits without limit.
   */
  request_timeout?: number;
  /**
   * false keeps the subscriptions and the QoS 1 and 2 messages on the broker between connections, without end; needs
   * a `client_id`. Default true.
   */
  clean_session?: boolean;
  /** Tags for all metrics of this connection. */
  tags?: Tags;
}

/** Options of {@link Client.subscribe}. */
export interface SubscribeOptions {
  /** Highest quality of service of the messages. Default 0. */
  qos?: QoS;
  /** Tags for this call's metrics. */
  tags?: Tags;
}

/** Options of {@link Client.publish}. */
export interface PublishOptions {
  /** Default 0. */
  qos?: QoS;
  /** Whether the broker keeps the message for later subscribers. Default false. */
  retain?: boolean;
  /** Needs `protocol_version: 5`, or is a TypeError. */
  properties?: Properties | undefined;
  /** Tags for this call's metrics. */
  tags?: Tags;
}

/** Options of the calls that have no others. */
export interface CallOptions {
  /** Tags for this call's metrics. */
  tags?: Tags;
}

/** What a `message` handler gets as its third argument. */
export interface Arrival {
  /**
   * When the message's last byte was read from the socket (and decrypted): milliseconds since 1970, to the
   * microsecond. To compare with `Date.now()`, which cuts the fraction off.
   *
   * A goroutine that waits for nobody reads the socket and takes the time after each read, so neither a busy VU nor
   * messages that wait for their handler make it later. It is later than the arrival at this machine by the time that
   * goroutine waits for a CPU: microseconds, or the 10 ms and more of a scheduler's turn when all CPUs are busy.
   * Messages of one read (16 KiB at most) share a time.
   */
  received: number;
  /** MQTT 5 only. `publish` takes it as it is, to pass it on. */
  properties?: Properties & { user: UserProperties };
}

/** What went wrong, and in the message what to change. */
export interface MQTTError extends Error {
  /** Always "MQTTError". */
  name: 'MQTTError';
  /** For example "mqtt://127.0.0.1:1883: dial tcp …: connection refused: nothing listens there: start the broker …". */
  message: string;
  /** The call that failed, without "Async"; "connect" also when the connection was lost. */
  method: 'connect' | 'reconnect' | 'subscribe' | 'unsubscribe' | 'publish';
}

/** One MQTT client. Made in the init context or in a VU; it does no I/O until `connect`. */
export class Client {
  /**
   * @throws TypeError for an option of the wrong type.
   * @example
   * const client = new Client({ client_id: "sensor-1", will: { topic: "status/1", payload: "gone", retain: true } });
   */
  constructor(options?: ClientOptions);

  /** Whether the connection is up now. False from the moment its loss is noticed, before the events. */
  readonly connected: boolean;

  /**
   * Connects and returns when the broker has accepted. The `connect` event follows, then messages. Needs a running
   * VU: the default function, `setup()` or `teardown()`.
   *
   * @param url `scheme://user:password@host:port`. Schemes: mqtt, tcp (port 1883); mqtts, ssl, tls (8883); ws (80);
   *   wss (443); none means mqtt. User name and password of the client's options go before those of the url. TLS
   *   takes k6's own options (`tlsAuth`, `insecureSkipTLSVerify`, …); `hosts` and `blacklistIPs` hold too.
   * @throws {MQTTError} no server took the connection, or the client is connected already.
   * @example
   * client.connect("mqtts://broker.example", { keepalive: 30, connect_timeout: 5000, servers: ["mqtts://spare.example"] });
   */
  connect(url: string, options?: ConnectOptions): void;
  /**
   * The same with `options.servers` alone.
   *
   * @example
   * client.connect({ servers: ["mqtt://one:1883", "mqtt://two:1883"] });
   */
  connect(options: ConnectOptions & { servers: string[] }): void;

  /**
   * Connects again with the parameters of the last `connect()`, ending the present connection if there is one. The
   * `reconnect` event follows, then `connect`. Nothing reconnects by itself; subscriptions of a clean session have to
   * be made again.
   *
   * @throws {MQTTError} no server took the connection, or there was no `connect()` yet.
   * @example
   * client.on("error", (e) => { if (e.method === "connect") setTimeout(() => client.reconnect(), 1000); });
   */
  reconnect(): void;

  /**
   * Ends the connection: calls in flight finish first (5 seconds at most), every message that has arrived is handed
   * over, and the `end` event has fired when this returns. Called by the `message` handler while more messages wait,
   * both happen right after that handler. Ending twice, or without a connection, is harmless.
   *
   * @example
   * client.end({ tags: { step: "teardown" } });
   */
  end(options?: CallOptions): void;
  /** Like {@link Client.end} without blocking; resolves after the `end` event. No more calls are taken meanwhile. */
  endAsync(options?: CallOptions): Promise<void>;

  /**
   * Subscribes and returns after the broker's SUBACK. `+` stands for one level, `#` for all the rest.
   *
   * @throws {MQTTError} not connected, a wrong filter, refused by the broker, no answer within `request_timeout`, or the
   *   connection was lost.
   * @example
   * client.subscribe(["messages/user/+", "status/#"], { qos: 1 });
   */
  subscribe(topic: string | string[], options?: SubscribeOptions): void;
  /** Like {@link Client.subscribe}; resolves after SUBACK. */
  subscribeAsync(topic: string | string[], options?: SubscribeOptions): Promise<void>;

  /**
   * Ends subscriptions and returns after UNSUBACK. Messages that had arrived before still come.
   *
   * @throws {MQTTError} not connected, a wrong filter, no answer within `request_timeout`, or the connection was lost.
   * @example
   * client.unsubscribe("status/#");
   */
  unsubscribe(topic: string | string[], options?: CallOptions): void;
  /** Like {@link Client.unsubscribe}; resolves after UNSUBACK. */
  unsubscribeAsync(topic: string | string[], options?: CallOptions): Promise<void>;

  /**
   * Publishes and returns when the message is written (QoS 0) or acknowledged (PUBACK for QoS 1, PUBCOMP for QoS 2).
   *
   * @throws {MQTTError} not connected, a wrong topic, no answer within `request_timeout`, the connection was lost, or an MQTT 5
   *   broker refused the message.
   * @example
   * client.publish("messages/user/17", JSON.stringify({ id: "k3v9x2ab.1.17" }), { qos: 1 });
   */
  publish(topic: string, payload: Payload, options?: PublishOptions): void;
  /** Like {@link Client.publish}; resolves then. Calls go out in the order they were made. */
  publishAsync(topic: string, payload: Payload, options?: PublishOptions): Promise<void>;

  /**
   * Sets the handler of an event: one for each, a later one replaces it with a warning. Handlers may be async, and may
   * use timers; what they return has no effect. One that throws fails the iteration.
   *
   * `connect`: connected, by `connect()` or `reconnect()`.
   *
   * @example
   * client.on("connect", () => client.subscribe("messages/#"));
   */
  on(event: 'connect', handler: () => unknown): void;
  /**
   * `message`: one message, in the order the broker sent them; none is dropped while the iteration runs, so a handler
   * that is too slow costs memory. The payload is the handler's own.
   *
   * @example
   * client.on("message", (topic, payload) => console.log(topic, payload.byteLength));
   * @example
   * client.on("message", (topic, payload, { received, properties }) => {
   *   latency.add(received - sentAt[topic]); // milliseconds, whenever the handler runs
   *   console.log(properties?.user.trace); // with protocol_version: 5
   * });
   */
  on(event: 'message', handler: (topic: string, payload: ArrayBuffer, arrival: Arrival) => unknown): void;
  /** `end`: the client has ended, by `end()` or because the connection was lost; once for each connection. */
  on(event: 'end', handler: () => unknown): void;
  /** `reconnect`: a `reconnect()` succeeded; the `connect` event follows. */
  on(event: 'reconnect', handler: () => unknown): void;
  /**
   * `error`: a call failed (before it returns), or the connection was lost, also because the broker broke the protocol: then the calls in flight failed first, and
   * the `end` event follows unless the handler has connected again. Without a handler a lost connection is an error in
   * k6's log.
   *
   * @example
   * client.on("error", (e) => console.error(e.method, e.message));
   */
  on(event: 'error', handler: (error: MQTTError) => unknown): void;
}

/** The default export: `import mqtt from "k6/x/mqtt"; new mqtt.Client()`. */
declare const mqtt: { Client: typeof Client };
export default mqtt;
