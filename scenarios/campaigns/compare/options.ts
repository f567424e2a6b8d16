import { ConfigError } from '../../../pipeline/shared/config.ts';
import { numberOf, readFlags } from '../../../pipeline/shared/flags.ts';
import { NETWORKS, type Network, WAN } from '../../lab/networks.ts';
import { refusePipeline } from '../../run/pipeline-file.ts';

export interface Options {
  /** Requests/s. */
  rate: number;
  /** The length of the measured phase, s. */
  duration: number;
  /** The number of runs of each tool. */
  repeat: number;
  /** The highest rate of the search for bottlenecks; 0: no search. */
  most: number;
  /** The network between tools and pipeline; undefined: none. */
  network: Network | undefined;
  /** Whether disagreement is an exit code. */
  mustAgree: boolean;
}

/** The length of a run of the search, s. */
export const PROBE_SECONDS = 5;

const ALL_NETWORKS = [...NETWORKS, WAN];

export const HELP = `Runs k6 and Artillery in turn, with the same load, against one pipeline. Prints a table and writes a page that compares them.

  npm run compare [-- <flags>]

  --rate 200       requests/s; 1 to 5000
  --duration 20    s of the measured phase; 1 to 3600
  --repeat 2       how often each tool runs, in turn; 1 to 20
  --most 3200      the highest rate of the search for each tool's bottleneck; --rate to 20000; 0: no search
  --network        lan, firewall or internet (as npm run matrix), or wan: --delay each way, no loss. Both tools reach ingest and
                   broker over it. Network namespaces make it, or else a TCP proxy: the first line says which
  --delay ${WAN.delay}       ms each way of wan; 1 to 1000
  --must-agree     exit code 1 when p50 or p99 of arrival differ by more than 10 %, a run is invalid, or messages of a run failed

The search for a bottleneck takes about 8 runs of ${PROBE_SECONDS} s for each tool, at most 24. At the end wrk, if installed, posts to the ingest as fast as
it gets answers; not over a network, where the round trip limits it. The first use installs Artillery, 470 MB. The environment is that of
npm run ramp; over a network the command starts its own pipeline.
Exit code: 0 when every run has a report whose account balances, 1 otherwise, 2 when the command is wrong.`;

/** @throws {ConfigError} in one line: the flag, its value, what is allowed */
export function readOptions(args: readonly string[]): Options | 'help' {
  refusePipeline(
    'compare',
    'k6, Artillery and wrk send the default message; INGEST_URL, INGEST_TOKEN, MQTT_URL and REDIS_URL name a pipeline that takes it',
    args,
  );
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
  if (values.delay !== undefined && network !== WAN) throw new ConfigError('--delay needs --network wan');
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
