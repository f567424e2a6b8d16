import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type MqttClient } from 'mqtt';
import { brokerAt } from '../common/broker-attempt.ts';
import type { TelemetryData } from '../common/telemetry.ts';

/** Without `heap/current`: it grows with each user property, which is freed but not subtracted (eclipse-mosquitto/mosquitto#3192). */
const GAUGES: Record<string, string> = {
  'clients/connected': 'clients',
  /** Retained messages, and those waiting for a client. */
  'store/messages/count': 'stored_messages',
};

const COUNTERS: Record<string, string> = {
  'publish/messages/received': 'messages_received',
  'publish/messages/sent': 'messages_sent',
  /** Messages beyond a client's limits, or of QoS 0 to a slow client. */
  'publish/messages/dropped': 'messages_dropped',
};

const ROOT = '$SYS/broker/';

/** The broker's figures on `$SYS`. Mosquitto 2.0 publishes them every two seconds at most (`sys_interval 1`). */
export class BrokerSys {
  readonly #client: MqttClient;
  readonly #said = new Map<string, string>();

  /** @param url with credentials of a user that may read `$SYS/#`. It reconnects. */
  constructor(url: string) {
    this.#client = connect({
      ...brokerAt(url),
      protocolVersion: 5,
      clientId: `arrival-sys-${randomBytes(4).toString('hex')}`,
      reconnectPeriod: 1000,
    });
    // Subscribes again with each connection. After a refusal there are no figures.
    this.#client.on('connect', () => this.#client.subscribe(`${ROOT}#`, () => {}));
    this.#client.on('error', () => {});
    this.#client.on('close', () => this.#said.clear());
    this.#client.on('message', (topic, payload) =>
      this.#said.set(topic.slice(ROOT.length), payload.toString()),
    );
  }

  /** Mosquitto's version; undefined if none came within `withinMs`. */
  async version(withinMs: number): Promise<string | undefined> {
    const deadline = performance.now() + withinMs;
    while (!this.#said.has('version') && performance.now() < deadline) await sleep(5);
    return this.#said.get('version')?.replace(/^mosquitto version /, '');
  }

  /** The last figures; undefined: none came. */
  figures(): Required<Pick<TelemetryData, 'gauges' | 'counters'>> | undefined {
    const gauges: Record<string, number> = {};
    const counters: Record<string, number> = {};
    for (const [topic, said] of this.#said) {
      const gauge = GAUGES[topic];
      const counter = COUNTERS[topic];
      if (gauge) gauges[gauge] = Number(said);
      if (counter) counters[counter] = Number(said);
    }
    return Object.keys(gauges).length + Object.keys(counters).length === 0 ? undefined : { gauges, counters };
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true);
  }
}
