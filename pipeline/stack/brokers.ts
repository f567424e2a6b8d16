/** The Mosquittos of a stack: one, several separate ones, or several in a row, joined by bridges. */
import { ConfigError, type StackConfig } from '../shared/config.ts';
import { BROKER_USERS, type BrokerUser, sameFor, secrets, urls } from './access.ts';
import type { Certificate } from './certificates.ts';
import type { Launch } from './launch.ts';
import { claimPort } from './ports.ts';
import { checkBroker } from './probe.ts';
import type { Started } from './process.ts';
import { brokerName, HOST, type Listen, prepareMosquitto } from './services.ts';

/** The setting of a server of a stack. */
export interface ServerSetting {
  config: StackConfig;
  dir: string;
  listen: Listen;
  /** With a certificate, servers speak TLS. */
  certificate: Certificate | undefined;
  /** A file of authorities to trust; empty: the built-in ones. */
  ca: string;
  /** Starts a process, and resolves when it has printed a line like this. */
  run: (launch: Launch, readyLine: RegExp) => Promise<Started>;
}

export interface Brokers {
  /** The broker that relays publish to. */
  broker: Record<BrokerUser, string>;
  /** The broker of subscribers: the same one, or the last of a row. */
  arrives: Record<BrokerUser, string>;
  /** Addresses of separate brokers. */
  more: string[];
}

/** Refuses contradictory settings before anything starts. */
export function checkBrokers({ MQTT_URL, BROKERS, BRIDGE }: StackConfig): void {
  if (BRIDGE && BROKERS === 1)
    throw new ConfigError(
      'BRIDGE is true, and BROKERS is 1; allowed: BROKERS from 2 on, a broker at each end',
    );
  if (MQTT_URL !== undefined && BROKERS > 1)
    throw new ConfigError(`BROKERS is ${BROKERS}, and MQTT_URL names one of your own: leave one of them out`);
}

export async function startBrokers(setting: ServerSetting): Promise<Brokers> {
  const { config, dir, listen, certificate, ca, run } = setting;
  const { MQTT_URL, MQTT_PORT, BROKERS, BRIDGE } = config;
  if (MQTT_URL !== undefined) {
    await checkBroker('MQTT_URL', MQTT_URL);
    const broker = sameFor(BROKER_USERS, MQTT_URL);
    return { broker, arrives: broker, more: [] };
  }
  const passwords = secrets(BROKER_USERS);
  const ports: number[] = [];
  for (let nth = 1; nth <= BROKERS; nth++) {
    const last = ports.at(-1);
    const bridge =
      BRIDGE && last !== undefined
        ? { port: last, password: passwords.bridge, ca: certificate === undefined ? '' : ca }
        : undefined;
    const port = await (nth === 1 ? claimPort('MQTT_PORT', MQTT_PORT) : claimPort('BROKERS', 0));
    await run(
      await prepareMosquitto(dir, port, passwords, certificate, listen, brokerName(nth), bridge),
      /mosquitto version .* running/,
    );
    ports.push(port);
  }
  const scheme = `mqtt${certificate === undefined ? '' : 's'}`;
  const [broker, ...others] = ports.map((port) => urls(passwords, `${scheme}://${HOST}:${port}`));
  const first = broker as Record<BrokerUser, string>;
  return BRIDGE
    ? { broker: first, arrives: others.at(-1) as Record<BrokerUser, string>, more: [] }
    : { broker: first, arrives: first, more: ports.slice(1).map((port) => `${scheme}://${HOST}:${port}`) };
}
