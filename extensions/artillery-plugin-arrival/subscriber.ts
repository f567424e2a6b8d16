/** A connection to the broker that holds topics and says when something came. */
import { connectAsync, type IConnackPacket, type MqttClient } from 'mqtt';
import type { Gap } from '../../reports/run.ts';
import type { Pipeline } from './pipeline.ts';

/** ms */
const CONNECT_TIMEOUT = 10_000;
/** Topics of one SUBSCRIBE, so that no packet is too large. */
const TOPICS_AT_ONCE = 500;

export interface Message {
  payload: Buffer;
  hops: string | undefined;
}

export class Subscriber {
  readonly #client: MqttClient;
  #ending = false;

  private constructor(client: MqttClient) {
    this.#client = client;
  }

  /**
   * Connects and subscribes.
   * @param now read when bytes leave the socket, before anything looks into them
   * @param onGap told of each loss of the connection; its end is filled in when the topics are held again
   */
  static async connect(
    { mqtt }: Pipeline,
    topics: readonly string[],
    qos: 0 | 1,
    now: () => number,
    onMessage: (at: number, message: Message) => void,
    onGap: (reason: string) => () => void,
  ): Promise<Subscriber> {
    const { url, ...login } = mqtt;
    const client = await connectAsync(
      url,
      {
        ...login,
        protocolVersion: 5,
        connectTimeout: CONNECT_TIMEOUT,
        reconnectPeriod: 500,
        clean: true,
        resubscribe: false,
      },
      false,
    ).catch((error: Error) => {
      throw new Error(
        `the broker ${new URL(url).host} refused (MQTT_URL): ${error.message || 'no connection'}`,
      );
    });
    const subscriber = new Subscriber(client);
    let at = now();
    const attach = () => {
      const stream = client.stream as typeof client.stream & { setNoDelay?(on: boolean): void };
      stream.setNoDelay?.(true);
      stream.prependListener('data', () => {
        at = now();
      });
    };
    attach();
    client.on('message', (_topic, payload, packet) => {
      const hops = packet.properties?.userProperties?.hops;
      onMessage(at, { payload, hops: Array.isArray(hops) ? hops[0] : hops });
    });
    let closed: (() => void) | undefined;
    let reason = 'connection closed';
    client.on('error', (error) => {
      reason = error.message;
    });
    client.on('close', () => {
      if (!subscriber.#ending) closed ??= onGap(reason);
    });
    client.on('connect', (_packet: IConnackPacket) => {
      attach();
      subscriber.#subscribe(topics, qos).then(
        () => {
          closed?.();
          closed = undefined;
        },
        (error: Error) => {
          reason = error.message;
        },
      );
    });
    await subscriber.#subscribe(topics, qos).catch((error: Error) => {
      client.end(true);
      throw new Error(`the broker ${new URL(url).host} refused a subscription (MQTT_URL): ${error.message}`);
    });
    return subscriber;
  }

  async #subscribe(topics: readonly string[], qos: 0 | 1): Promise<void> {
    for (let from = 0; from < topics.length; from += TOPICS_AT_ONCE) {
      await this.#client.subscribeAsync(topics.slice(from, from + TOPICS_AT_ONCE), { qos });
    }
  }

  async end(): Promise<void> {
    this.#ending = true;
    await this.#client.endAsync(true);
  }
}

/** What a gap looks like in the report; `from` and `to` in s since the start of the run. */
export function gapOf(subscriber: number, from: number, reason: string): Gap {
  return { subscriber, from_s: Math.max(0, from), to_s: null, reason };
}
