import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type MqttClient, type PacketCallback } from 'mqtt';
import { Attempt, brokerAt, isHopeless, type Remarks, reasonName } from '../common/broker-attempt.ts';
import type { Problem } from '../common/readiness.ts';
import { type Misfit, misfitOf } from './misfit.ts';
import { type Publication, userPropertiesOf } from './publication.ts';
import { FIRST_FAILURE, ReasonCodes } from './reason-codes.ts';
import { Takeovers } from './takeovers.ts';

interface BrokerOptions {
  url: string;
  /** MQTT client id, and the name below `status/relay/`. */
  name: string;
  /** The QoS of messages, which the broker has to allow. */
  qos: 0 | 1;
  /** ms without a connection, or without a PUBACK, until the connection counts as dead. */
  timeoutMs: number;
  /**
   * Called when the broker begins or stops to take messages, and when an attempt to connect fails for another reason than
   * the last one; `reason` is one short sentence.
   */
  onState: (up: boolean, reason: string) => void;
}

/**
 * ms for TCP to connect. The address of a server that moved may swallow packets, and the next attempt goes to where the server is
 * now: an early one. Each may take twice as long as the one before, up to `timeoutMs`, for slow networks.
 */
const CONNECT_MS = 2000;
const RECONNECT_MS = 200;
const RECONNECT_MAX_MS = 2000;
const GOODBYE_MS = 1000;
/** Packet ids have 16 bits. */
const MOST_IN_FLIGHT = 65_535;
/** The largest remaining length, four bytes of 7 bits, plus the fixed header (MQTT 5, 1.5.5). */
const LARGEST_PACKET = 5 + 268_435_455;
/** Disconnect with Will Message (MQTT 5, 3.14.2.1). */
const WITH_WILL = 4;
const TAKEN_OVER = 0x8e;
/** Errors of a socket that the broker has closed while bytes were under way. */
const CLOSED: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE']);

/**
 * The connection to the broker. Each connection is a new mqtt.js client, so none resends what was in flight on the last one.
 * A retained message and the will report the relay's presence.
 */
export class Broker {
  readonly #options: BrokerOptions;
  readonly #status: string;
  readonly #opened = Promise.withResolvers<void>();
  readonly #takeovers = new Takeovers();
  #codes = new ReasonCodes();
  #endedBy: number | undefined;
  #client: MqttClient;
  #wasUp = false;
  #closing = false;
  #up = false;
  #reason = 'there has been no connection yet';
  /** Only another setting changes the reason. */
  #lasts = false;
  /** Why this connection ends, as far as it is known. */
  #cause: string | undefined;
  /** The reason that was reported last; undefined: the broker takes messages, or nothing was reported. */
  #reported: string | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = RECONNECT_MS;
  #connectMs = CONNECT_MS;

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

  /** Why it takes no messages now; undefined: it does. */
  get problem(): Problem | undefined {
    if (this.up) return undefined;
    const passing = this.#wasUp ? 'shared' : 'starting';
    return { problem: `the broker is away: ${this.#reason}`, kind: this.#lasts ? 'misconfigured' : passing };
  }

  /** Why the last connection broke. */
  get reason(): string {
    return this.#reason;
  }

  /** The reason code with which the broker ended the last connection; undefined: it gave none. */
  get endedBy(): number | undefined {
    return this.#endedBy;
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
   * Publishes a message. Calls `answered` with the reason code of its PUBACK, and what the broker says beside it; never at QoS 0,
   * nor when the connection breaks first.
   */
  publish(publication: Publication, answered: (reasonCode: number, remarks?: Remarks) => void): void {
    const { topic, payload, qos, dup } = publication;
    const userProperties = userPropertiesOf(publication);
    const options = { qos, dup, ...(userProperties !== undefined && { properties: { userProperties } }) };
    const codes = this.#codes;
    const done: PacketCallback = (error, packet) => {
      if (!error) answered(0);
      // An error without a number means that the connection broke.
      else if (typeof (error as { code?: unknown }).code === 'number')
        answered(
          codes.failureOf(packet?.messageId ?? 0) ?? FIRST_FAILURE,
          (packet as { properties?: Remarks } | undefined)?.properties,
        );
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
    this.#cause = reason;
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
    const { url, name, qos, timeoutMs } = this.#options;
    const at = brokerAt(url);
    const client = connect({
      ...at,
      protocolVersion: 5,
      clientId: `arrival-${name}`,
      log: () => {},
      queueQoSZero: false,
      reconnectPeriod: 0,
      connectTimeout: timeoutMs,
      keepalive: 30,
      will: { topic: this.#status, payload: Buffer.from('offline'), qos, retain: true },
    });
    // Nagle's algorithm delays small packets by up to 40 ms.
    (client.stream as Socket).setNoDelay(true);
    const codes = new ReasonCodes();
    this.#codes = codes;
    // Reads the bytes before mqtt.js, whose listener is there already.
    client.stream.prependListener('data', (bytes: Buffer) => codes.read(bytes));
    this.#cause = undefined;
    const connectMs = Math.min(this.#connectMs, timeoutMs);
    const attempt = new Attempt(client, at.protocol, { timeoutMs, connectMs });
    let connected = false;
    let wasProven = false;
    /** The timer waits for the first PUBACK, and then for the end of the quiet. */
    let wait: NodeJS.Timeout | undefined;
    let misfit: Misfit | undefined;
    client.on('connect', () => {
      connected = true;
      misfit = misfitOf(client.serverProperties ?? {}, qos);
      if (misfit !== undefined) return this.break(misfit.why);
      wait = setTimeout(() => this.break(`no PUBACK for ${timeoutMs} ms`), timeoutMs);
      this.#prove(client, () => {
        clearTimeout(wait);
        wasProven = true;
        const quietMs = this.#takeovers.began();
        if (quietMs === 0) this.#begin();
        else {
          wait = setTimeout(() => {
            this.#takeovers.kept();
            this.#begin();
          }, quietMs);
        }
      });
    });
    client.on('disconnect', ({ properties }) => {
      this.#cause = `the broker ended the connection: ${reasonName(codes.disconnect ?? 0, properties)}`;
    });
    client.on('error', (error) => {
      if (!('code' in error && CLOSED.has(error.code))) this.#cause ??= error.message;
      // A malformed packet is an error too, and the connection stays.
      client.end(true);
    });
    client.once('close', () => {
      clearTimeout(wait);
      this.#connectMs = attempt.opened ? CONNECT_MS : 2 * connectMs;
      this.#endedBy = codes.disconnect;
      this.#reason = connected ? (this.#cause ?? 'the broker closed the connection') : attempt.reason;
      const isFinal = isHopeless(attempt.error) || misfit?.isFinal === true;
      this.#lasts = isFinal || misfit !== undefined;
      if (!this.#wasUp && isFinal) {
        this.#closing = true;
        this.#opened.reject(new Error(this.#reason));
      }
      const counts = wasProven || codes.disconnect === TAKEN_OVER;
      const pauseMs = counts ? this.#pauseAfter(codes.disconnect) : undefined;
      this.#report(false);
      if (this.#closing) return;
      this.#retry = setTimeout(() => {
        this.#client = this.#connect();
      }, pauseMs ?? this.#retryMs);
      this.#retryMs = Math.min(2 * this.#retryMs, RECONNECT_MAX_MS);
    });
    return client;
  }

  /** ms until the next attempt if another client has taken the connection over, which becomes the reason; else undefined. */
  #pauseAfter(code: number | undefined): number | undefined {
    const explained = this.#cause === undefined ? 'unexplained' : 'explained';
    const pauseMs = this.#takeovers.ended(code === TAKEN_OVER ? 'taken over' : explained);
    if (pauseMs === undefined) return undefined;
    const { name } = this.#options;
    this.#lasts = true;
    this.#reason =
      `another client has the name of this one, arrival-${name}, and has taken over its connection: ` +
      `each relay of a broker needs a PROCESS_NAME of its own, and each npm run pipeline a broker; ` +
      `the next attempt follows in ${pauseMs / 1000} s`;
    return pauseMs;
  }

  /**
   * Waits for a first PUBACK. With a broker that acknowledges nothing, each message published alone would look as if it broke
   * the connection.
   */
  #prove(client: MqttClient, proven: () => void): void {
    const qos = client.serverProperties?.maximumQoS === 0 ? 0 : 1;
    client.publish(this.#status, 'online', { qos, retain: true }, (error) => {
      // A refusal counts as an answer: only the status may be forbidden.
      if (error && !('code' in error)) return;
      proven();
    });
  }

  /** The connection takes messages. */
  #begin(): void {
    this.#retryMs = RECONNECT_MS;
    this.#wasUp = true;
    this.#opened.resolve();
    this.#report(true);
  }

  /** Reports a new state, and a new reason for an old one. */
  #report(up: boolean): void {
    const reason = up ? undefined : this.#reason;
    const isNew = up !== this.#up || reason !== this.#reported;
    this.#up = up;
    this.#reported = reason;
    if (isNew && !this.#closing) this.#options.onState(up, this.#reason);
  }
}
