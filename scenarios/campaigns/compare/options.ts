import { ConfigError } from '../../../pipeline/common/config.ts';
import { numberOf, readFlags } from '../../../pipeline/common/flags.ts';
import { NETWORKS, type Network, WAN } from '../../lab/networks.ts';

export interface Options {
  /** Requests/s. */
  rate: number;
  /** Of the measured phase, s. */
  duration: number;
  /** How often each tool runs. */
  repeat: number;
  /** Highest rate at which the bottleneck is looked for; 0: it is not. */
  most: number;
  /** Undefined: none between the tools and the pipeline. */
  network: Network | undefined;
  /** Whether the exit code shows that the tools do not agree. */
  mustAgree: boolean;
}

/** Of a run that asks whether a tool keeps up, s. */
export const PROBE_SECONDS = 5;

const ALL_NETWORKS = [...NETWORKS, WAN];

export const HELP = `k6 and Artillery in turn, with the same load, against one pipeline; a table, and one page that compares them.

  npm run compare [-- <flags>]

  --rate 200       requests/s; 1 to 5000
  --duration 20    s of the measured phase; 1 to 3600
  --repeat 2       how often each tool runs, in turn; 1 to 20
  --most 3200      highest rate at which it is looked for where each tool becomes the bottleneck; 0: it is not looked for, else
                   from --rate to 20000
  --network        lan, firewall or internet (those of npm run matrix), or wan: --delay each way, and nothing lost. Both tools reach
                   ingest and broker over it. Network namespaces make it, where they can not be had a TCP proxy: the first line says which
  --delay ${WAN.delay}       ms each way of wan; 1 to 1000
  --must-agree     exit code 1 where the tools do not agree on p50 and p99 of arrival within 10 %, a run is invalid, or messages of one failed

Where each becomes the bottleneck is looked for in runs of ${PROBE_SECONDS} s, at most 24 for each tool, mostly about 8. wrk, where it is installed, posts
to the ingest at the end, as fast as it is answered; not over a network, where the round trip alone would say how fast that is.
Artillery is installed on first use, 470 MB. The environment is that of npm run ramp; over a network the pipeline is one of its own.
Exit code: 0 when every run has left a report whose account balances, 1 otherwise, 2 when the command is wrong.`;

/** @throws {ConfigError} in one line: the flag, its value, what is allowed */
export function readOptions(args: readonly string[]): Options | 'help' {
  const text = { type: 'string' } as const;
  const { values } = readFlags(args, {
    rate: text,
    duration: text,
    repeat: text,
    most: text,
    network: text,
    delay: text,
    'must-agree': { type: 'boolean' },
  });
  if (values.help) return 'help';
  const count = (
    name: 'rate' | 'duration' | 'repeat' | 'most' | 'delay',
    fallback: number,
    most: number,
    more: { least?: number; or?: string } = {},
  ) => numberOf(name, values[name] ?? String(fallback), { least: 1, most, ...more });
  const rate = count('rate', 200, 5000);
  const network = networkOf(values.network);
  if (values.delay !== undefined && network !== WAN)
    throw new ConfigError('--delay is that of --network wan, which is not asked for');
  return {
    rate,
    duration: count('duration', 20, 3600),
    repeat: count('repeat', 2, 20),
    most: count('most', Math.max(3200, rate), 20_000, { least: rate, or: '0' }),
    network: network === WAN ? { ...WAN, delay: count('delay', WAN.delay, 1000) } : network,
    mustAgree: values['must-agree'] ?? false,
  };
}

function networkOf(name: string | undefined): Network | undefined {
  const network = ALL_NETWORKS.find((one) => one.name === name);
  if (network === undefined && name !== undefined)
    throw new ConfigError(
      `--network is "${name}"; allowed: ${ALL_NETWORKS.map((one) => one.name).join(', ')}`,
    );
  return network;
}
