import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, TIMEOUT, type Tool } from '../tool.ts';

const BIN = 'extensions/artillery-plugin-arrival/artillery/node_modules/.bin/artillery';

interface Report {
  aggregate: {
    counters: Record<string, number>;
    summaries: Record<
      string,
      { p50: number; p90: number; p99: number; p999: number; max: number } | undefined
    >;
  };
}

export const artillery: Tool = {
  name: 'artillery',
  title: 'Artillery',
  model: 'open',
  why: 'Virtual users arrive at the rate; http.response_time ends with the first byte, in whole milliseconds.',
  install: 'npm ci --ignore-scripts --prefix extensions/artillery-plugin-arrival/artillery',
  version: [`${BIN} --version`, /Artillery: ([\d.]+)/],
  // Without http.pool each virtual user has a connection of its own; with it they wait for one, which is not timed.
  command({ url, rate, seconds }, folder) {
    const phases = [{ duration: seconds, arrivalRate: rate }];
    const config = { target: new URL(url).origin, phases, http: { timeout: TIMEOUT } };
    const script = { config, scenarios: [{ flow: [{ get: { url: '/' } }] }] };
    writeFileSync(join(ROOT, folder, 'artillery.json'), JSON.stringify(script));
    return `${BIN} run --quiet --output "${folder}/report.json" "${folder}/artillery.json"`;
  },
  read({ file }) {
    const { counters, summaries } = (JSON.parse(file('report.json')) as Report).aggregate;
    const time = summaries['http.response_time'];
    if (time === undefined) throw new Error('no http.response_time in report.json');
    const errors = Object.entries(counters).filter(([name]) => name.startsWith('errors.'));
    return {
      ...{ p50_ms: time.p50, p90_ms: time.p90, p99_ms: time.p99, p999_ms: time.p999, max_ms: time.max },
      requests: {
        asked: counters['vusers.created'] ?? 0,
        begun: counters['http.requests'] ?? 0,
        done: counters['http.responses'] ?? 0,
        failed: errors.reduce((sum, [, count]) => sum + count, 0),
      },
      said: errors.map(([name, count]) => `${name}: ${count}`),
    };
  },
};
