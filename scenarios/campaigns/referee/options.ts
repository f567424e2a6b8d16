import { listOf, numberOf, readFlags } from '../../../pipeline/shared/flags.ts';
import type { Tool } from './tool.ts';
import { TOOLS } from './tools.ts';

export interface Options {
  tools: Tool[];
  /** The names of the truths. */
  truths: string[];
  /** Requests/s. */
  rate: number;
  seconds: number;
  connections: number;
  repeats: number;
  /** Installs what is missing, first. */
  install: boolean;
}

/** As `.stack/referee truths` prints them, which the help does not need to be there. */
export const TRUTHS = ['constant', 'slow', 'freeze', 'saturate', 'bursts', 'limit', 'reset', 'lost'];

export const HELP = `Runs load generators against a server whose behaviour is scripted and whose own record is the truth. Prints by what factor each
one's p99 is off, and writes a page.

  npm run referee [-- <flags>]

  --tools all          with commas between: ${TOOLS.map(({ name }) => name).join(', ')}
  --truths all         ${TRUTHS.join(', ')}
  --rate 400           requests/s; 1 to 10000
  --seconds 20         the length of each run; 1 to 3600. wrk2 does not record the first 10 s
  --connections 20     of a tool that is held to the rate; 2 to 1024. A closed loop has as many as make about that rate when an answer
                       takes 2 ms
  --repeats 1          how often each tool meets each truth, every other time in reverse order; 1 to 20. The table has the median, the
                       least and the largest of the runs that are used
  --install            first installs the pinned versions that are missing, in .stack/generators; Debian's by apt-get, as root

A tool that is not installed is left out, and the page says so. A run is kept but not used when other processes took more than a fifth of the
host's CPU, or the hypervisor more than a twentieth. Ctrl-C writes what there is.
Exit code: 0 when each tool that is installed has a result for each truth, 1 otherwise, 2 when the command is wrong.`;

/** @throws {ConfigError} in one line: the flag, its value, what is allowed */
export function readOptions(args: readonly string[]): Options | 'help' {
  const text = { type: 'string' } as const;
  const { values } = readFlags(args, {
    ...{ tools: text, truths: text, rate: text, seconds: text, connections: text, repeats: text },
    install: { type: 'boolean' },
  });
  if (values.help) return 'help';
  const number = (
    name: 'rate' | 'seconds' | 'connections' | 'repeats',
    fallback: number,
    least: number,
    most: number,
  ) => numberOf(name, values[name] ?? String(fallback), { least, most });
  const list = (name: 'tools' | 'truths', allowed: readonly string[]) =>
    listOf(name, values[name] === 'all' ? undefined : values[name], allowed);
  const names = TOOLS.map(({ name }) => name);
  const tools = list('tools', names);
  return {
    tools: TOOLS.filter(({ name }) => tools.includes(name)),
    truths: list('truths', TRUTHS),
    rate: number('rate', 400, 1, 10_000),
    seconds: number('seconds', 20, 1, 3600),
    connections: number('connections', 20, 2, 1024),
    repeats: number('repeats', 1, 1, 20),
    install: values.install === true,
  };
}
