import { HERE, linesWith, TIMEOUT, type Tool, times } from '../tool.ts';

export const locust: Tool = {
  name: 'locust',
  title: 'Locust',
  model: 'paced',
  why: 'Each user is held to its share of the rate and waits for its answer. It reports two digits of a latency.',
  install:
    'python3 -m venv .stack/generators/python && .stack/generators/python/bin/pip install --quiet locust==2.47.0',
  version: ['locust --version', /locust ([\d.]+)/],
  command({ url, rate, connections, seconds }) {
    const load = `--host ${new URL(url).origin} -u ${connections} -r ${connections} -t ${seconds}s`;
    const settings = `RATE=${rate} USERS=${connections} TIMEOUT=${TIMEOUT}`;
    return `${settings} locust -f ${HERE}/locustfile.py --headless --only-summary ${load}`;
  },
  // The files that it writes lack what came after their last second, so the tables of its end count.
  read({ stdout, stderr }) {
    const text = `${stdout}\n${stderr}`;
    const [, done, failed, max] = /^ +Aggregated +(\d+) +(\d+)\(.*\| +\d+ +\d+ +(\d+) /m.exec(text) ?? [];
    // 50, 66, 75, 80, 90, 95, 98, 99, 99.9, 99.99 and 100 %
    const at = /^ +Aggregated +((?:\d+ +){11}\d+)$/m.exec(text)?.[1]?.split(/ +/).map(Number) ?? [];
    return {
      ...times([at[0], at[4], at[7], at[8], Number(max)]),
      requests: { done: Number(done) - Number(failed), failed: Number(failed) },
      said: linesWith(text, /WARNING/),
    };
  },
};
