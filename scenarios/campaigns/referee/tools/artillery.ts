import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Percentile } from '../../../../reports/referee/result.ts';
import { ARTILLERY } from '../../../run/artillery-run.ts';
import { ROOT, TIMEOUT, type Tool, times, total } from '../tool.ts';

export const artillery: Tool = {
  name: 'artillery',
  title: 'Artillery',
  model: 'open',
  why: 'Virtual users arrive at the rate; http.response_time ends with the first byte, in whole milliseconds.',
  install: 'node scenarios/run/artillery-run.ts',
  version: [`${ARTILLERY} --version`, /Artillery: ([\d.]+)/],
  // Without http.pool each virtual user has a connection of its own; with it they wait for one, which is not timed.
  command({ url, rate, seconds }, folder) {
    const phases = [{ duration: seconds, arrivalRate: rate }];
    const config = { target: new URL(url).origin, phases, http: { timeout: TIMEOUT } };
    const script = { config, scenarios: [{ flow: [{ get: { url: '/' } }] }] };
    writeFileSync(join(ROOT, folder, 'artillery.json'), JSON.stringify(script));
    return `${ARTILLERY} run --quiet --output "${folder}/report.json" "${folder}/artillery.json"`;
  },
  read({ file }) {
    const { counters, summaries } = JSON.parse(file('report.json')).aggregate;
    const time: Record<Percentile, number> | undefined = summaries['http.response_time'];
    if (time === undefined) throw new Error('no http.response_time in report.json');
    const of = (counter: string) => counters[counter] ?? 0;
    const errors = Object.entries<number>(counters).filter(([name]) => name.startsWith('errors.'));
    return {
      ...times([time.p50, time.p90, time.p99, time.p999, time.max]),
      requests: {
        ...{ asked: of('vusers.created'), begun: of('http.requests'), done: of('http.responses') },
        failed: total(errors),
      },
      said: errors,
    };
  },
};
