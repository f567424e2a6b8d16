import { linesWith, TIMEOUT, type Tool, times } from '../tool.ts';

interface Report {
  /** s. */
  DurationHistogram: { Count: number; Max: number; Percentiles: { Percentile: number; Value: number }[] };
  ErrorsDurationHistogram: { Count: number };
}

export const fortio: Tool = {
  name: 'fortio',
  title: 'fortio',
  model: 'paced',
  why: 'Each connection is held to its share of the rate, and sends later what it missed; latency begins when a request is sent.',
  install: 'GOBIN="$PWD/.stack/generators/bin" go install fortio.org/fortio@v1.66.0',
  version: ['fortio version', /([\d.]+)/],
  command({ url, rate, connections, seconds }) {
    const load = `-c ${connections} -qps ${rate} -t ${seconds}s -timeout ${TIMEOUT}s`;
    return `fortio load -quiet -allow-initial-errors -json - ${load} ${url}`;
  },
  read({ stdout, stderr }) {
    // Some lines may follow the report.
    const report = JSON.parse(stdout.slice(stdout.indexOf('{'), stdout.lastIndexOf('}') + 1)) as Report;
    const { Count, Max, Percentiles } = report.DurationHistogram;
    const at = (p: number) => Percentiles.find(({ Percentile }) => Percentile === p)?.Value;
    const failed = report.ErrorsDurationHistogram.Count;
    return {
      ...times([at(50), at(90), at(99), at(99.9), Max], 0.001),
      requests: { begun: Count, done: Count - failed, failed },
      said: linesWith(stderr, /WARNING/),
    };
  },
};
