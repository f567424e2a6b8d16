import { known, type Reader, TIMEOUT, type Tool } from '../tool.ts';

interface Report {
  summary: { slowest: number };
  latencyPercentiles: Record<'p50' | 'p90' | 'p99' | 'p99.9', number | null>;
  statusCodeDistribution: Record<string, number>;
  errorDistribution: Record<string, number>;
}

const ms = (seconds: number | null) => (seconds === null ? undefined : 1000 * seconds);
const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, count) => all + count, 0);

const base: Reader = {
  install: 'cargo install --locked --root .stack/generators oha --version 1.9.0',
  version: ['oha --version', /oha ([\d.]+)/],
  read({ stdout }) {
    const report = JSON.parse(stdout) as Report;
    const { p50, p90, p99, 'p99.9': p999 } = report.latencyPercentiles;
    const errors = report.errorDistribution;
    return {
      ...known({ p50_ms: ms(p50), p90_ms: ms(p90), p99_ms: ms(p99) }),
      ...known({ p999_ms: ms(p999), max_ms: ms(report.summary.slowest) }),
      requests: { done: sum(report.statusCodeDistribution), failed: sum(errors) },
      said: Object.entries(errors).map(([error, count]) => `${error}: ${count}`),
    };
  },
};

const line = (connections: number, seconds: number) =>
  `oha --no-tui --output-format json -z ${seconds}s -c ${connections} -t ${TIMEOUT}s`;

export const oha: readonly Tool[] = [
  {
    ...{ ...base, name: 'oha', title: 'oha', model: 'closed', why: 'A closed loop.' },
    command: ({ url, loops, seconds }) => `${line(loops, seconds)} ${url}`,
  },
  {
    ...base,
    name: 'oha-q',
    title: 'oha -q --latency-correction',
    model: 'open',
    why: 'Requests are due at the rate, and latency begins when one is due; connections bound what is under way.',
    command: ({ url, rate, connections, seconds }) =>
      `${line(connections, seconds)} -q ${rate} --latency-correction ${url}`,
  },
];
