import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type MqttClient } from 'mqtt';
import type { TelemetryData } from '../common/telemetry.ts';

const GAUGES: Record<string, readonly [name: string, scale: number]> = {
  'clients/connected': ['clients', 1],
  'heap/current': ['heap_mb', 1e-6],
  /** Retained, or waiting for a client. */
  'store/messages/count': ['stored_messages', 1],
};

const COUNTERS: Record<string, string> = {
  'publish/messages/received': 'messages_received',
  'publish/messages/sent': 'messages_sent',
  /** Past a client's limit of messages in flight and queued, or of QoS 0 to one that does not keep up. */
  'publish/messages/dropped': 'messages_dropped',
};

const ROOT = '$SYS/broker/';

/** What the broker says of itself on `$SYS`: Mosquitto 2.0 does so every two seconds, which is its least (`sys_interval 1`). */
export class BrokerSys {
  readonly #client: MqttClient;
  readonly #said = new Map<string, string>();

  /** @param url credentials included; the user may read `$SYS/#`. A broker that is away is tried again. */
  constructor(url: string) {
    this.#client = connect(url, {
      protocolVersion: 5,
      clientId: `arrival-sys-${randomBytes(4).toString('hex')}`,
      reconnectPeriod: 1000,
    });
    // Its subscriptions are few, so it makes them anew with each connection. A refusal leaves the figures out.
    this.#client.on('connect', () => this.#client.subscribe(`${ROOT}#`, () => {}));
    this.#client.on('error', () => {});
    this.#client.on('close', () => this.#said.clear());
    this.#client.on('message', (topic, payload) =>
      this.#said.set(topic.slice(ROOT.length), payload.toString()),
    );
  }

  /** Mosquitto's version; undefined when it has not said so after `withinMs`. */
  async version(withinMs: number): Promise<string | undefined> {
    const deadline = performance.now() + withinMs;
    while (!this.#said.has('version') && performance.now() < deadline) await sleep(5);
    return this.#said.get('version')?.replace(/^mosquitto version /, '');
  }

  /** Undefined while it says nothing. */
  figures(): Required<Pick<TelemetryData, 'gauges' | 'counters'>> | undefined {
    const gauges: Record<string, number> = {};
    const counters: Record<string, number> = {};
    for (const [topic, said] of this.#said) {
      const [gauge, scale = 1] = GAUGES[topic] ?? [];
      const counter = COUNTERS[topic];
      if (gauge) gauges[gauge] = Number(said) * scale;
      if (counter) counters[counter] = Number(said);
    }
    return Object.keys(gauges).length + Object.keys(counters).length === 0 ? undefined : { gauges, counters };
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true);
  }
}
