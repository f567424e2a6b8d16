import { ConfigError } from '../../../pipeline/shared/config.ts';
import { listOf, numberOf, readFlags } from '../../../pipeline/shared/flags.ts';
import { type By, NETWORKS, type Network } from '../../lab/networks.ts';
import { refusePipeline, startsEach } from '../../run/pipeline-file.ts';

const TOPOLOGIES = ['single', 'cluster'] as const;
export type Topology = (typeof TOPOLOGIES)[number];

export interface Options {
  topologies: Topology[];
  networks: Network[];
  repeat: number;
  /** Requests per second. */
  rate: number;
  /** The length of the measured phase, s. */
  duration: number;
  connections: number;
  /** Searches the highest rate that a cell holds, from `rate` up to `highest`, with arrival p99 below `p99` ms. */
  capacity: boolean;
  highest: number;
  p99: number;
  by: By;
}

export const HELP = `Measures each topology over each network, in turn, and compares them.

  npm run matrix [-- <flags>]

  --repeat 3           runs of each cell; each cell once, then all again
  --duration 10        s of the measured phase, after a warm-up of 2 s
  --rate 200           requests/s, of one message each
  --capacity           searches the highest requests/s that each cell holds, from --rate on; a probe lasts --duration
  --p99 100            limit of arrival p99 in that search, ms
  --highest 50000      most requests/s to try, and no more than generator and network do alone
  --connections 64     HTTP connections of the generator
  --topologies single,cluster           cluster: nginx before two ingests
  --networks lan,firewall,internet      lan: 100 Mbit/s; firewall: also nftables;
                       internet: also 20 ms each way and 0.1 % of the packets lost
  --by auto            kernel: network namespaces, veth and tc (Linux, root); proxy: a TCP proxy on the loopback;
                       auto: the kernel as far as it can, a TCP proxy for the rest. Each run and the first lines say which.

It first measures generator and networks alone, and refuses the matrix when the generator sends less than twice the rate, a network carries
less than twice the load, or the connections are too few for the round trip.
It writes each run to reports/runs/matrix-<topology>-<network>-<time>/, and to reports/comparisons/ a page that compares the cells, with
matrix.json. Exit code: 0 when every run passed, 99 when one did not, 1 when the matrix was refused or could not go on.`;

/** @throws {ConfigError} in one line: the flag, its value, what is allowed */
export function readOptions(args: readonly string[]): Options | 'help' {
  refusePipeline('matrix', startsEach('topology'), args);
  const text = { type: 'string' } as const;
  const { values } = readFlags(args, {
    repeat: text,
    duration: text,
    rate: text,
    connections: text,
    capacity: { type: 'boolean' },
    highest: text,
    p99: text,
    topologies: text,
    networks: text,
    by: text,
  });
  if (values.help) return 'help';
  type Name = Exclude<keyof typeof values, 'help' | 'capacity'>;
  const number = (name: Name, fallback: number, least: number, most: number, broken = false) =>
    numberOf(name, values[name] ?? String(fallback), { least, most, broken });
  const { by = 'auto' } = values;
  if (by !== 'auto' && by !== 'kernel' && by !== 'proxy')
    throw new ConfigError(`--by is "${by}"; allowed: auto, kernel, proxy`);
  const names = NETWORKS.map(({ name }) => name);
  const networks = listOf('networks', values.networks, names);
  return {
    topologies: listOf('topologies', values.topologies, TOPOLOGIES),
    networks: NETWORKS.filter(({ name }) => networks.includes(name)),
    repeat: number('repeat', 3, 1, 20),
    rate: number('rate', 200, 1, 100_000),
    duration: number('duration', 10, 0.5, 3600, true),
    connections: number('connections', 64, 1, 1024),
    capacity: values.capacity === true,
    highest: number('highest', 50_000, 1, 100_000),
    p99: number('p99', 100, 1, 3_600_000),
    by,
  };
}
