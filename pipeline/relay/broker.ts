import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type MqttClient, type PacketCallback, ReasonCodes } from 'mqtt';
import { splitTrace } from '../queue/trace-context.ts';

export interface BrokerOptions {
  url: string;
  /** MQTT client id, and the name below `status/relay/`. */
  name: string;
  /** ms without a connection, or without a PUBACK, until the connection counts as dead. */
  timeoutMs: number;
  /** Called when the broker begins or stops to take messages; `reason` is one short sentence. */
  onState: (up: boolean, reason: string) => void;
}

/** A message for MQTT. */
export interface Publication {
  topic: string;
  payload: Buffer;
  qos: 0 | 1;
  dup: boolean;
  /** A user property; undefined: none. */
  hops: string | undefined;
  /** As a frame has it: the user properties `traceparent` and `tracestate`; empty: neither. */
  trace: string;
}

const RECONNECT_MS = 200;
const RECONNECT_MAX_MS = 2000;
const GOODBYE_MS = 1000;
/** Packet ids have 16 bits. */
const MOST_IN_FLIGHT = 65_535;
/** The largest remaining length, four bytes of 7 bits, plus the fixed header (MQTT 5, 1.5.5). */
const LARGEST_PACKET = 5 + 268_435_455;
/** CONNACK codes of MQTT 5 after which the first attempt gives up: bad credentials, not authorized. */
const HOPELESS: ReadonlySet<unknown> = new Set([134, 135]);
/** Disconnect with Will Message (MQTT 5, 3.14.2.1). */
const WITH_WILL = 4;

/**
 * The connection to the broker. Each connection is a new mqtt.js client, so none resends what was in flight on the last one.
 * A retained message and the will report the relay's presence.
 */
export class Broker {
  readonly #options: BrokerOptions;
  readonly #status: string;
  readonly #opened = Promise.withResolvers<void>();
  #client: MqttClient;
  #wasUp = false;
  #closing = false;
  #up = false;
  #reason = 'connection closed';
  #retry: NodeJS.Timeout | undefined;
  #retryMs = RECONNECT_MS;

  /** Connects, and retries while the broker is away. */
  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#status = `status/relay/${options.name}`;
    this.#client = this.#connect();
  }

  /** Resolves when the broker takes messages for the first time; rejects when it refuses the credentials. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Whether messages can be published: the broker has acknowledged one on this connection. */
  get up(): boolean {
    // A dead socket's end is reported some turns later; attempts until then would count against messages.
    return this.#up && this.#client.stream.writable;
  }

  /** Why the last connection broke. */
  get reason(): string {
    return this.#reason;
  }

  /** The most messages in flight that the broker allows. */
  get receiveMaximum(): number {
    return this.#client.serverProperties?.receiveMaximum ?? MOST_IN_FLIGHT;
  }

  /** The largest packet that the broker takes, bytes. */
  get maximumPacketSize(): number {
    return this.#client.serverProperties?.maximumPacketSize ?? LARGEST_PACKET;
  }

  /**
   * Publishes a message. Calls `answered` with the reason code of its PUBACK; never at QoS 0, nor when the connection breaks
   * first.
   */
  publish(publication: Publication, answered: (reasonCode: number) => void): void {
    const { topic, payload, qos, dup } = publication;
    const userProperties = userPropertiesOf(publication);
    const options = { qos, dup, ...(userProperties !== undefined && { properties: { userProperties } }) };
    const done: PacketCallback = (error) => {
      if (!error) answered(0);
      // An error without a code means that the connection broke.
      else if ('code' in error) answered(error.code);
    };
    // At QoS 0 mqtt.js calls back while the message is still in the socket; `together` reports when the kernel has it.
    this.#client.publish(topic, payload, options, qos === 0 ? undefined : done);
  }

  /**
   * Writes everything that `publish` publishes at once. Calls `written` when the kernel has it, or with true when the write
   * failed.
   */
  together(publish: () => void, written?: (failed: boolean) => void): void {
    const { stream } = this.#client;
    stream.cork();
    publish();
    if (written !== undefined) stream.write('', (error) => written(Boolean(error) || stream.destroyed));
    stream.uncork();
  }

  /** Breaks the connection, and reconnects. */
  break(reason: string): void {
    this.#reason = reason;
    this.#client.end(true);
  }

  /** Disconnects. The broker publishes the will: the relay is offline. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    // Waits for PUBACKs.
    if (this.up) await Promise.race([client.endAsync(false, { reasonCode: WITH_WILL }), sleep(GOODBYE_MS)]);
    client.stream.destroy();
  }

  #connect(): MqttClient {
    const { url, name, timeoutMs } = this.#options;
    const { protocol, hostname, port, username, password } = new URL(url);
    const client = connect({
      protocol: protocol.slice(0, -1) as 'mqtt',
      host: hostname.replace(/^\[|\]$/g, ''),
      ...(port && { port: Number(port) }),
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      protocolVersion: 5,
      clientId: `arrival-${name}`,
      log: () => {},
      queueQoSZero: false,
      reconnectPeriod: 0,
      connectTimeout: timeoutMs,
      keepalive: 30,
      will: { topic: this.#status, payload: Buffer.from('offline'), qos: 1, retain: true },
    });
    // Nagle's algorithm delays small packets by up to 40 ms.
    (client.stream as Socket).setNoDelay(true);
    let proof: NodeJS.Timeout | undefined;
    client.on('connect', () => {
      proof = setTimeout(() => this.break(`no PUBACK for ${timeoutMs} ms`), timeoutMs);
      this.#prove(client, () => clearTimeout(proof));
    });
    client.on('disconnect', ({ reasonCode }) => {
      this.#reason = `the broker ended the connection: ${reasonName(reasonCode ?? 0)}`;
    });
    client.on('error', (error) => {
      if (!this.#wasUp && 'code' in error && HOPELESS.has(error.code)) {
        this.#closing = true;
        this.#opened.reject(error);
      }
      // A malformed packet is an error too, and the connection stays.
      this.#reason = error.message;
      client.end(true);
    });
    client.once('close', () => {
      clearTimeout(proof);
      this.#report(false);
      if (this.#closing) return;
      this.#retry = setTimeout(() => {
        this.#client = this.#connect();
      }, this.#retryMs);
      this.#retryMs = Math.min(2 * this.#retryMs, RECONNECT_MAX_MS);
    });
    return client;
  }

  /**
   * Waits for a first PUBACK. With a broker that acknowledges nothing, each message published alone would look as if it broke
   * the connection.
   */
  #prove(client: MqttClient, proven: () => void): void {
    client.publish(this.#status, 'online', { qos: 1, retain: true }, (error) => {
      // A refusal counts as an answer: only the status may be forbidden.
      if (error && !('code' in error)) return;
      proven();
      this.#retryMs = RECONNECT_MS;
      this.#wasUp = true;
      this.#opened.resolve();
      this.#report(true);
    });
  }

  #report(up: boolean): void {
    if (up === this.#up) return;
    this.#up = up;
    if (!this.#closing) this.#options.onState(up, this.#reason);
  }
}

/** The user properties of a publication, in the order in which they are sent; undefined: none. */
export function userPropertiesOf({
  hops,
  trace,
}: Pick<Publication, 'hops' | 'trace'>): Record<string, string> | undefined {
  const stamps = hops === undefined ? undefined : { hops };
  return trace === '' ? stamps : { ...stamps, ...splitTrace(trace) };
}

/** The lowest reason code of a failure (MQTT 5, 2.4). */
export const FIRST_FAILURE = 0x80;
/** PUBACK codes caused by the broker's state, not by the message: packet identifier in use, quota exceeded. */
export const PASSING: ReadonlySet<number> = new Set([0x91, 0x97]);

/** MQTT 5's name of a reason code, with the code. */
export function reasonName(code: number): string {
  return `${ReasonCodes[code as keyof typeof ReasonCodes] || 'unknown reason'} (0x${code.toString(16)})`;
}
