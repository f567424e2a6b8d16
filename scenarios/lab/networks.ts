/** The networks of the matrix, and what makes each of them. Pure. */

/** The properties of a network. */
export interface Network {
  name: string;
  /** Mbit/s each way. */
  rate: number;
  /** The delay each way, ms. */
  delay: number;
  /** Percent of the packets each way. */
  loss: number;
  /** A stateful packet filter, which allows connections to ingest and broker. */
  firewall: boolean;
}

export const NETWORKS: readonly Network[] = [
  { name: 'lan', rate: 100, delay: 0, loss: 0, firewall: false },
  { name: 'firewall', rate: 100, delay: 0, loss: 0, firewall: true },
  { name: 'internet', rate: 100, delay: 20, loss: 0.1, firewall: true },
];

/** An intercontinental link without loss: a lost packet delays all that follow it, so each p99 would differ. */
export const WAN: Network = { name: 'wan', rate: 100, delay: 50, loss: 0, firewall: false };

/** Why something is not available, in a few words; null: it is. */
export type Unavailable = string | null;

/** kernel, proxy: only that; auto: the kernel as far as it can. */
export type By = 'auto' | 'kernel' | 'proxy';

/** The means of this machine to make networks. */
export interface Means {
  /** Network namespaces, joined by veth. */
  namespaces: Unavailable;
  /** tc's netem: delay, loss and rate. */
  netem: Unavailable;
  /** tc's tbf: rate. */
  tbf: Unavailable;
  nftables: Unavailable;
}

/** The plan of a network: the kernel does what it can, a TCP proxy the rest. */
export interface Plan {
  network: Network;
  namespaces: boolean;
  rate: 'netem' | 'tbf' | 'proxy';
  delay: 'netem' | 'proxy' | 'none';
  /** A TCP proxy drops no packets. */
  loss: 'netem' | 'none';
  /** A TCP proxy stands in for a packet filter. */
  firewall: 'nftables' | 'proxy' | 'none';
  /** The properties that are not made as specified, with the reason. */
  shortcomings: string[];
}

export function planOf(network: Network, means: Means): Plan {
  const kernel = means.namespaces === null;
  const has = (one: 'netem' | 'tbf' | 'nftables') => kernel && means[one] === null;
  const why = (one: 'netem' | 'tbf' | 'nftables') => means.namespaces ?? means[one] ?? '';
  const rate = has('netem') ? 'netem' : has('tbf') ? 'tbf' : 'proxy';
  const wantsDelay = network.delay > 0;
  const delay = wantsDelay ? (has('netem') ? 'netem' : 'proxy') : 'none';
  const loss = network.loss > 0 && has('netem') ? 'netem' : 'none';
  const firewall = network.firewall ? (has('nftables') ? 'nftables' : 'proxy') : 'none';
  const shortcomings: string[] = [];
  if (rate === 'proxy') shortcomings.push(`rate by a TCP proxy, each connection for itself (${why('tbf')})`);
  if (delay === 'proxy') shortcomings.push(`delay by a TCP proxy, new connections apart (${why('netem')})`);
  if (network.loss > 0 && loss === 'none') shortcomings.push(`no loss (${why('netem')})`);
  if (firewall === 'proxy') shortcomings.push(`no packet filter but a TCP proxy (${why('nftables')})`);
  return { network, namespaces: kernel, rate, delay, loss, firewall, shortcomings };
}

/** Whether the plan needs a TCP proxy. */
export function wantsProxy({ rate, delay, firewall }: Plan): boolean {
  return rate === 'proxy' || delay === 'proxy' || firewall === 'proxy';
}

/** Returns what the report says of a network: `environment.pipeline` of run.json. */
export function factsOf(plan: Plan): Record<string, string> {
  const { network } = plan;
  return {
    network_path: plan.namespaces ? 'network namespaces, veth, a router between' : 'loopback',
    network_rate: `${network.rate} Mbit/s (${plan.rate})`,
    network_delay: network.delay > 0 ? `${network.delay} ms each way (${plan.delay})` : 'none',
    network_loss: plan.loss === 'netem' ? `${network.loss} % each way (netem)` : 'none',
    network_firewall: plan.firewall,
    ...(plan.shortcomings.length > 0 && { network_shortcomings: plan.shortcomings.join('; ') }),
  };
}

/** Describes a plan in one line for the terminal. */
export function sentence(plan: Plan): string {
  const { network, shortcomings } = plan;
  const parts = [`${network.rate} Mbit/s by ${plan.rate}`];
  if (network.delay > 0) parts.push(`${network.delay} ms each way by ${plan.delay}`);
  if (plan.loss === 'netem') parts.push(`${network.loss} % lost by netem`);
  if (plan.firewall === 'nftables') parts.push('filtered by nftables');
  return `${network.name.padEnd(9)} ${parts.join(', ')}${shortcomings.length > 0 ? `; ${shortcomings.join('; ')}` : ''}`;
}

/** tc's arguments after `root` that shape an interface; undefined: the kernel does not shape it. */
export function qdisc({ network, rate, delay, loss }: Plan): string | undefined {
  if (rate === 'tbf') return `tbf rate ${network.rate}mbit burst 64kb latency 100ms`;
  if (rate !== 'netem') return undefined;
  return [
    // The limit exceeds the packets in the delay and those queued before it.
    'netem limit 10000',
    ...(delay === 'netem' ? [`delay ${network.delay}ms`] : []),
    ...(loss === 'netem' ? [`loss ${network.loss}%`] : []),
    `rate ${network.rate}mbit`,
  ].join(' ');
}

/** The router's nftables rules: they allow new connections to these ports only, and drop unknown packets. */
export function ruleset(ports: readonly number[]): string {
  return `flush ruleset
table inet arrival {
  chain passing {
    type filter hook forward priority 0; policy drop;
    ct state invalid counter drop
    ct state established,related counter accept
    iifname "generator" tcp dport { ${ports.join(', ')} } ct state new counter accept
    counter
  }
}
`;
}
