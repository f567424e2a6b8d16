import { type Reader, TIMEOUT, type Tool } from '../tool.ts';

interface Report {
  latency: { p50: number; p90: number; p99: number; p99_9: number; max: number };
  requests: { sent: number };
  '2xx': number;
  /** With the time-outs. */
  errors: number;
  timeouts: number;
}

const base: Reader = {
  install: 'npm install --prefix .stack/generators autocannon@9.0.0',
  version: ['autocannon --version', /autocannon v([\d.]+)/],
  read({ stdout }) {
    const { latency, requests, errors, timeouts, '2xx': done } = JSON.parse(stdout) as Report;
    return {
      ...{ p50_ms: latency.p50, p90_ms: latency.p90, p99_ms: latency.p99 },
      ...{ p999_ms: latency.p99_9, max_ms: latency.max },
      requests: { begun: requests.sent, done, failed: errors },
      said: timeouts > 0 ? [`timeouts: ${timeouts}`] : [],
    };
  },
};

const line = (connections: number, seconds: number) =>
  `autocannon --json -c ${connections} -d ${seconds} -t ${TIMEOUT}`;

export const autocannon: readonly Tool[] = [
  {
    ...base,
    name: 'autocannon',
    title: 'autocannon',
    model: 'closed',
    why: 'A closed loop, timed in whole milliseconds.',
    command: ({ url, loops, seconds }) => `${line(loops, seconds)} ${url}`,
  },
  {
    ...base,
    name: 'autocannon-R',
    title: 'autocannon -R',
    model: 'paced',
    why: 'It adds the latencies that it takes to be left out after a slow answer, by the interval between requests.',
    command: ({ url, rate, connections, seconds }) => `${line(connections, seconds)} -R ${rate} ${url}`,
  },
];
