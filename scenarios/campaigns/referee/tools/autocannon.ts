import { TIMEOUT, type Tool, times } from '../tool.ts';

interface Report extends Record<'2xx' | 'errors' | 'timeouts', number> {
  latency: Record<'p50' | 'p90' | 'p99' | 'p99_9' | 'max', number>;
  requests: { sent: number };
}

const AUTOCANNON = `autocannon --json -t ${TIMEOUT}`;

const closed: Tool = {
  name: 'autocannon',
  title: 'autocannon',
  model: 'closed',
  why: 'A closed loop, timed in whole milliseconds.',
  install: 'npm install --prefix .stack/generators autocannon@9.0.0',
  version: ['autocannon --version', /autocannon v([\d.]+)/],
  read({ stdout }) {
    const { latency, requests, errors, timeouts, '2xx': done } = JSON.parse(stdout) as Report;
    return {
      ...times([latency.p50, latency.p90, latency.p99, latency.p99_9, latency.max]),
      requests: { begun: requests.sent, done, failed: errors }, // errors has the time-outs
      said: timeouts > 0 ? [['timeouts', timeouts]] : [],
    };
  },
  command: ({ url, loops, seconds }) => `${AUTOCANNON} -c ${loops} -d ${seconds} ${url}`,
};

export const autocannon: readonly Tool[] = [
  closed,
  {
    ...closed,
    name: 'autocannon-R',
    title: 'autocannon -R',
    model: 'paced',
    why: 'It adds the latencies that it takes to be left out after a slow answer, by the interval between requests.',
    command: ({ url, rate, connections, seconds }) =>
      `${AUTOCANNON} -c ${connections} -d ${seconds} -R ${rate} ${url}`,
  },
];
