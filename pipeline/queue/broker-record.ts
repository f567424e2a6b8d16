/** A record in Redis of the broker that the relays of a queue publish to: relays of another one would take half of its messages. */
import { lookup } from 'node:dns/promises';
import { hostname, networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../common/within.ts';
import { ConfigError, withoutPassword } from '../shared/config.ts';
import { PREFIX } from './keys.ts';
import { Silence } from './silence.ts';
import type { Store } from './store.ts';

/** ms between two signs of life of a record. */
const SIGN_MS = 1000;
/** ms without a sign until the relays of a record count as dead: a busy relay may be late. */
const DEAD_MS = 4000;
const LOOK_MS = 100;
/** ms that a name has to get its addresses. */
const LOOKUP_MS = 1000;

interface BrokerAddress {
  /** BROKER_NAME; absent: none. */
  given?: string;
  /** The address as it was written, without user and password. */
  name: string;
  host: string;
  port: string;
  /** The addresses that the name leads to. A broker on this host has all by which other hosts may know it. */
  addresses: string[];
}

interface Recorded {
  broker: BrokerAddress;
  /** The relay that recorded it, and the number of its sign of life. */
  relay: string;
  sign: number;
}

/** Resolves with what identifies a broker, however its address is spelled. */
export async function addressOf(url: string): Promise<BrokerAddress> {
  const { protocol, hostname: text, port } = new URL(url);
  const host = text.replace(/^\[|\]$/g, '').toLowerCase();
  const found = (await within(LOOKUP_MS, lookup(host, { all: true }))) ?? [];
  const addresses = found.map(({ address }) => address);
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const isLocal =
    own.some(({ address }) => addresses.includes(address)) || addresses.some((each) => /^127[.]/.test(each));
  // Each host has a loopback of its own.
  const global = own.filter(({ internal }) => !internal).map(({ address }) => address);
  const isSecure = protocol !== 'mqtt:' && protocol !== 'tcp:';
  return {
    name: withoutPassword(url).replace(/\/\/.*@/, '//'),
    host,
    port: port || (isSecure ? '8883' : '1883'),
    addresses: isLocal ? [`local to ${hostname()}`, ...global] : addresses,
  };
}

function isSame(one: BrokerAddress, other: BrokerAddress): boolean {
  if (one.given !== undefined && one.given === other.given) return true;
  if (one.port !== other.port) return false;
  // A sidecar has the same address on each host.
  if (one.host === other.host) return true;
  return one.addresses.some((address) => other.addresses.includes(address));
}

export interface BrokerRecordOptions {
  store: Pick<Store, 'brokerRecord' | 'recordBroker'>;
  prefix: string;
  url: string;
  /** BROKER_NAME: what the broker is called, however it is reached. */
  name?: string | undefined;
  /** The name of a relay in the consumer group; ingests need none. */
  relay?: string;
}

/** The record of a queue in Redis, as one of its processes sees it. */
export class BrokerRecord {
  readonly #options: BrokerRecordOptions;
  readonly #silence = new Silence();
  #ours: BrokerAddress | undefined;
  #sign = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BrokerRecordOptions) {
    this.#options = options;
  }

  /**
   * Rejects with a {@link ConfigError} when living relays of the queue publish to another broker. Those of a dead pipeline do not
   * count.
   */
  async check(): Promise<void> {
    const { url, name } = this.#options;
    this.#ours = { ...(await addressOf(url)), ...(name !== undefined && { given: name }) };
    const first = await this.#foreign();
    if (first === undefined) return;
    for (let waited = 0; waited < DEAD_MS; waited += LOOK_MS) {
      await sleep(LOOK_MS);
      const now = await this.#foreign();
      if (now === undefined) return;
      if (now.relay !== first.relay || now.sign !== first.sign) throw new ConfigError(this.#conflict(now));
    }
  }

  /**
   * Records our broker while it is up, as a relay.
   * @param onConflict called with why when living relays publish to another one, and with undefined when that is over
   */
  keep(isUp: () => boolean, onConflict: (why: string | undefined) => void): void {
    let conflict = false;
    const tell = (why: string | undefined) => {
      if (conflict !== (why !== undefined)) onConflict(why);
      conflict = why !== undefined;
    };
    const look = async () => {
      // A broker that has moved must not keep relays from its new address.
      if (!isUp() || this.#ours === undefined) return;
      const there = await this.#foreign();
      const lives = there !== undefined && this.#silence.ms('', `${there.relay} ${there.sign}`) < DEAD_MS;
      tell(lives ? this.#conflict(there) : undefined);
      if (lives) return;
      const record: Recorded = { broker: this.#ours, relay: this.#options.relay ?? '', sign: ++this.#sign };
      await this.#options.store.recordBroker(JSON.stringify(record));
    };
    const next = () => {
      // Redis is away, or does not allow it: the record is a help, not a condition.
      look()
        .catch(() => {})
        .finally(() => {
          if (this.#timer !== undefined) this.#timer = setTimeout(next, SIGN_MS).unref();
        });
    };
    this.#timer = setTimeout(next).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The record of another broker; undefined: there is none. */
  async #foreign(): Promise<Recorded | undefined> {
    const text = await this.#options.store.brokerRecord();
    try {
      const there: Recorded = JSON.parse(text ?? '');
      return this.#ours === undefined || isSame(this.#ours, there.broker) ? undefined : there;
    } catch {
      return undefined;
    }
  }

  #conflict({ broker, relay }: Recorded): string {
    const { prefix } = this.#options;
    const own = prefix === PREFIX ? '' : `=${prefix}`;
    return (
      `MQTT_URL is "${this.#ours?.name}", and relays of the same queue (QUEUE_PREFIX${own}) publish to "${broker.name}", like ${relay}; ` +
      'allowed: their broker (with one BROKER_NAME for all, if both lead to it), another QUEUE_PREFIX for another pipeline, or stopping those relays first'
    );
  }
}
