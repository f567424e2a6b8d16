import type { Socket } from 'node:net';
import { connect, type IClientPublishOptions, type MqttClient } from 'mqtt';

export interface BrokerOptions {
  url: string;
  /** MQTT client id, and the name below `status/relay/`. */
  name: string;
  qos: 0 | 1;
  /** A PUBACK that takes longer (ms) means that the connection is dead. */
  timeoutMs: number;
  onState: (up: boolean, reason: string) => void;
}

/** Why a message was not delivered. `refused`: the broker said no; otherwise the connection broke. */
export class DeliveryError extends Error {
  readonly refused: boolean;

  constructor(reason: string, refused: boolean) {
    super(reason);
    this.refused = refused;
  }
}

type Settled = (error?: DeliveryError) => void;

const RECONNECT_MS = 200;
/** CONNACK codes of MQTT 5 that a first attempt does not get over: bad credentials, not authorized. */
const HOPELESS = new Set([134, 135]);

/**
 * The way to the subscribers: the only place that speaks MQTT. Nothing waits in here: what is unsettled
 * when the connection breaks fails at once, and whoever published it decides.
 */
export class Broker {
  readonly #client: MqttClient;
  readonly #options: BrokerOptions;
  readonly #status: string;
  /** QoS 1 messages without a PUBACK, oldest first, by packet id. */
  readonly #unsettled = new Map<number, { settled: Settled; since: number }>();
  readonly #deadline: NodeJS.Timeout;
  #opened = false;
  #closing = false;
  #up = false;
  #reason = 'connection closed';

  /** Resolves when connected; rejects when the broker refuses the credentials. Retries while it is away. */
  static open(options: BrokerOptions): Promise<Broker> {
    return new Promise((resolve, reject) => new Broker(options, resolve, reject));
  }

  private constructor(options: BrokerOptions, opened: (broker: Broker) => void, failed: (e: Error) => void) {
    this.#options = options;
    this.#status = `status/relay/${options.name}`;
    this.#client = connect(options.url, {
      protocolVersion: 5,
      clientId: `arrival-${options.name}`,
      clean: true,
      log: () => {},
      queueQoSZero: false,
      reconnectOnConnackError: true,
      reconnectPeriod: RECONNECT_MS,
      connectTimeout: options.timeoutMs,
      keepalive: 30,
      will: { topic: this.#status, payload: Buffer.from('offline'), qos: 1, retain: true },
    });
    this.#client.on('connect', () => {
      (this.#client.stream as unknown as Socket).setNoDelay(true);
      this.#client.publish(this.#status, 'online', { qos: 1, retain: true }, () => {});
      this.#report(true);
      this.#opened = true;
      opened(this);
    });
    this.#client.on('close', () => this.#broken());
    this.#client.on('error', (error: Error & { code?: number | string }) => {
      this.#reason = error.message;
      if (!this.#opened && typeof error.code === 'number' && HOPELESS.has(error.code)) {
        clearInterval(this.#deadline);
        this.#client.end(true);
        failed(error);
      }
    });
    this.#deadline = setInterval(() => this.#checkDeadline(), options.timeoutMs / 4).unref();
  }

  get connected(): boolean {
    return this.#up;
  }

  /** Messages that the broker lets be in flight at once. */
  get receiveMaximum(): number {
    return this.#client.serverProperties?.receiveMaximum ?? 65_535;
  }

  /**
   * Publishes; `settled` is called once: without an error when the broker has taken the message (QoS 1: its
   * PUBACK came; QoS 0: it was written).
   */
  publish(
    topic: string,
    body: Buffer,
    hops: string | undefined,
    redelivery: boolean,
    settled: Settled,
  ): void {
    if (!this.#up) {
      settled(new DeliveryError('the broker is away', false));
      return;
    }
    const { qos } = this.#options;
    const options: IClientPublishOptions = { qos, dup: redelivery && qos === 1 };
    if (hops !== undefined) options.properties = { userProperties: { hops } };
    if (qos === 0) {
      this.#client.publish(topic, body, options, (error) => settled(deliveryError(error)));
      return;
    }
    let packetId = 0;
    this.#client.publish(topic, body, options, (error) => {
      this.#unsettled.delete(packetId);
      settled(deliveryError(error));
    });
    packetId = this.#client.getLastMessageId();
    this.#unsettled.set(packetId, { settled, since: performance.now() });
  }

  /** Says goodbye, so that the broker does not have to send the last will. */
  async close(): Promise<void> {
    clearInterval(this.#deadline);
    this.#closing = true;
    if (this.#up) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1000);
        this.#client.publish(this.#status, 'offline', { qos: 1, retain: true }, () => {
          clearTimeout(timer);
          resolve();
        });
      });
      // `end` without force can wait for ever for a PUBACK; all that matters is settled by now.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1000);
        this.#client.end(false, {}, () => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    await this.#client.endAsync(true);
  }

  #broken(): void {
    // Taken out of the library's hands: it would send them again, one at a time and with stale stamps.
    for (const packetId of [...this.#unsettled.keys()]) this.#client.removeOutgoingMessage(packetId);
    this.#report(false);
  }

  #checkDeadline(): void {
    const [oldest] = this.#unsettled.values();
    if (oldest === undefined || performance.now() - oldest.since < this.#options.timeoutMs) return;
    this.#reason = `no PUBACK for ${this.#options.timeoutMs} ms`;
    this.#client.stream.destroy();
  }

  #report(up: boolean): void {
    if (up === this.#up) return;
    this.#up = up;
    if (!this.#closing) this.#options.onState(up, this.#reason);
  }
}

function deliveryError(error: (Error & { code?: number }) | null | undefined): DeliveryError | undefined {
  if (!error) return undefined;
  // Only a PUBACK carries a reason code: 128 and above is a refusal (MQTT 5, 3.4.2.1).
  return new DeliveryError(error.message, typeof error.code === 'number' && error.code >= 128);
}
