import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type IClientOptions, MqttClient, ReasonCodes } from 'mqtt';
import { type AckOptions, AckTap, OWN_PACKET_IDS } from './acks.ts';

/** Told of PUBACKs for packets that were {@link Broker.write written}. */
export interface BrokerOptions extends AckOptions {
  url: string;
  /** MQTT client id, and the name below `status/relay/`. */
  name: string;
  /** No connection, or no PUBACK, for this long (ms): the connection is dead. */
  timeoutMs: number;
  /** Called when the broker takes messages, and when it no longer does; `reason` is one short sentence. */
  onState: (up: boolean, reason: string) => void;
}

const RECONNECT_MS = 200;
const LAST_PACKET_ID = 65_535;
/** CONNACK codes of MQTT 5 that a first attempt does not get over: bad credentials, not authorized. */
const HOPELESS = new Set([134, 135]);

/**
 * The connection to the broker. mqtt.js makes and keeps it, and says by a retained message and the Last Will
 * whether the relay is there. What the relay publishes is written past it: nothing waits in mqtt.js.
 */
export class Broker {
  readonly #client: MqttClient;
  readonly #options: BrokerOptions;
  readonly #status: string;
  readonly #opened = Promise.withResolvers<void>();
  #socket: Socket | undefined;
  #wasUp = false;
  #closing = false;
  #up = false;
  #reason = 'connection closed';
  #proof: NodeJS.Timeout | undefined;

  /** Connects by itself, and retries while the broker is away. */
  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#status = `status/relay/${options.name}`;
    this.#client = new MqttClient(() => this.#connect(), {
      ...credentials(options.url),
      protocolVersion: 5,
      clientId: `arrival-${options.name}`,
      clean: true,
      log: () => {},
      queueQoSZero: false,
      reconnectOnConnackError: true,
      reconnectPeriod: RECONNECT_MS,
      connectTimeout: options.timeoutMs,
      keepalive: 30,
      messageIdProvider: idsAbove(OWN_PACKET_IDS),
      will: { topic: this.#status, payload: Buffer.from('offline'), qos: 1, retain: true },
    });
    this.#client.on('connect', () => {
      this.#prove(() => {
        this.#wasUp = true;
        this.#opened.resolve();
      });
    });
    this.#client.on('close', () => this.#report(false));
    this.#client.on('disconnect', ({ reasonCode }) => {
      this.#reason = `the broker ended the connection: ${reasonName(reasonCode ?? 0)}`;
    });
    this.#client.on('error', (error: Error & { code?: number | string }) => {
      this.#reason = error.message;
      if (!this.#wasUp && typeof error.code === 'number' && HOPELESS.has(error.code)) {
        this.#client.end(true);
        this.#opened.reject(error);
      }
    });
  }

  /** Resolves when the broker takes messages for the first time; rejects when it refuses the credentials. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Messages can be written, and the broker has acknowledged one on this connection. */
  get up(): boolean {
    // A socket is dead some turns before its end is reported: each attempt until then would count against a message.
    return this.#up && this.#socket?.writable === true;
  }

  /** Why the connection broke last. */
  get reason(): string {
    return this.#reason;
  }

  /** Messages that the broker lets be in flight at once. */
  get receiveMaximum(): number {
    return Math.min(this.#client.serverProperties?.receiveMaximum ?? OWN_PACKET_IDS, OWN_PACKET_IDS);
  }

  /** Bytes of the largest packet that the broker takes. */
  get maximumPacketSize(): number {
    return this.#client.serverProperties?.maximumPacketSize ?? Number.POSITIVE_INFINITY;
  }

  /** Writes whole packets. `written` is called when the kernel has them, or with an error when it never will. */
  write(packets: Buffer, written?: (error?: Error | null) => void): void {
    this.#socket?.write(packets, written);
  }

  /** Breaks the connection; another one is made. */
  break(reason: string): void {
    this.#reason = reason;
    this.#socket?.destroy();
  }

  /** Says goodbye, so that the broker does not have to send the last will. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#proof);
    if (this.#up) {
      await within(1000, (done) =>
        this.#client.publish(this.#status, 'offline', { qos: 1, retain: true }, done),
      );
      // `end` without force can wait for ever for a PUBACK; all that matters is settled by now.
      await within(1000, (done) => this.#client.end(false, {}, done));
    }
    await this.#client.endAsync(true);
  }

  #connect(): AckTap {
    const { protocol, hostname, port } = new URL(this.#options.url);
    const secure = protocol === 'mqtts:' || protocol === 'ssl:' || protocol === 'tls:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const address = { host, port: Number(port || (secure ? 8883 : 1883)) };
    // Nagle's algorithm holds a small packet back for up to 40 ms.
    const name = isIP(host) === 0 ? { servername: host } : {};
    return new AckTap((onread) => {
      const socket = secure ? connectTls({ ...address, ...name }) : connectTcp({ ...address, onread });
      socket.setNoDelay(true);
      this.#socket = socket;
      return socket;
    }, this.#options);
  }

  /**
   * A broker that connects and acknowledges nothing is none: messages published to it one after the other would
   * look as if each of them broke the connection.
   */
  #prove(proven: () => void): void {
    const { timeoutMs } = this.#options;
    const socket = this.#socket;
    clearTimeout(this.#proof);
    this.#proof = setTimeout(() => {
      if (socket === this.#socket) this.break(`no PUBACK for ${timeoutMs} ms`);
    }, timeoutMs);
    this.#client.publish(this.#status, 'online', { qos: 1, retain: true }, (error) => {
      // A refusal is an answer too: the status is for people, and the message may be allowed.
      const answered = !error || 'code' in error;
      if (!answered || socket !== this.#socket || socket?.destroyed) return;
      clearTimeout(this.#proof);
      proven();
      this.#report(true);
    });
  }

  #report(up: boolean): void {
    if (!up) clearTimeout(this.#proof);
    if (up === this.#up) return;
    this.#up = up;
    if (!this.#closing) this.#options.onState(up, this.#reason);
  }
}

/** Reason codes from here on are failures (MQTT 5, 2.4). */
export const FIRST_FAILURE = 0x80;
/** PUBACK codes that tell of the broker's state, not of the message. */
export const PASSING: ReadonlySet<number> = new Set([0x88, 0x89, 0x91, 0x93, 0x96, 0x97]);

/** The name that MQTT 5 has for a reason code, and the code. */
export function reasonName(code: number): string {
  return `${ReasonCodes[code as keyof typeof ReasonCodes] || 'unknown reason'} (0x${code.toString(16)})`;
}

function credentials(url: string): Pick<IClientOptions, 'username' | 'password' | 'host'> {
  const { username, password, hostname } = new URL(url);
  return {
    host: hostname,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
}

/** Packet ids for mqtt.js' own few packets. */
function idsAbove(lowest: number): NonNullable<IClientOptions['messageIdProvider']> {
  let last = lowest;
  return {
    allocate: () => {
      last = last === LAST_PACKET_ID ? lowest + 1 : last + 1;
      return last;
    },
    getLastAllocated: () => last,
    register: () => true,
    deallocate: () => {},
    clear: () => {},
  };
}

/** Waits for `done`, as long as is sensible on the way out. */
async function within(ms: number, begin: (done: () => void) => void): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    begin(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
