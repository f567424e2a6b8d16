import { TIMEOUT, type Tool, times, total } from '../tool.ts';

interface Report extends Record<'statusCodeDistribution' | 'errorDistribution', Record<string, number>> {
  summary: { slowest: number };
  /** s. */
  latencyPercentiles: Record<'p50' | 'p90' | 'p99' | 'p99.9', number | null>;
}

const OHA = `oha --no-tui --output-format json -t ${TIMEOUT}s`;

const closed: Tool = {
  ...{ name: 'oha', title: 'oha', model: 'closed', why: 'A closed loop.' },
  install: 'cargo install --locked --root .stack/generators oha --version 1.9.0',
  version: ['oha --version', /oha ([\d.]+)/],
  read({ stdout }) {
    const report = JSON.parse(stdout) as Report;
    const { latencyPercentiles: at, statusCodeDistribution: answers, errorDistribution: errors } = report;
    const said = Object.entries(errors);
    return {
      ...times([at.p50, at.p90, at.p99, at['p99.9'], report.summary.slowest], 0.001),
      requests: { done: total(Object.entries(answers)), failed: total(said) },
      said,
    };
  },
  command: ({ url, loops, seconds }) => `${OHA} -z ${seconds}s -c ${loops} ${url}`,
};

export const oha: readonly Tool[] = [
  closed,
  {
    ...closed,
    name: 'oha-q',
    title: 'oha -q --latency-correction',
    model: 'open',
    why: 'Requests are due at the rate, and latency begins when one is due; connections bound what is under way.',
    command: ({ url, rate, connections, seconds }) =>
      `${OHA} -z ${seconds}s -c ${connections} -q ${rate} --latency-correction ${url}`,
  },
];
