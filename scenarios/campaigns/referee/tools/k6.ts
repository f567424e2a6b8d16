import { type Counted, HERE, K6, linesWith, TIMEOUT, type Tool, times } from '../tool.ts';

/** handleSummary's data, as far as it is read. */
interface Summary {
  metrics: Record<string, { values: Record<string, number> } | undefined>;
}

const by = (executor: string, own: Pick<Tool, 'name' | 'model' | 'why'>): Tool => ({
  ...{ ...own, title: `k6/http, ${executor}`, install: 'npm run setup' },
  version: ['./k6 version', /k6\S* v([\d.]+)/],
  command({ url, rate, loops, seconds }, folder) {
    const settings = `-e EXECUTOR=${executor} -e URL=${url} -e RATE=${rate} -e VUS=${loops} -e SECONDS=${seconds}`;
    return `${K6} ${settings} -e TIMEOUT=${TIMEOUT} -e "SUMMARY=${folder}/k6.json" ${HERE}/k6.js`;
  },
  read({ file, stderr }) {
    const { metrics } = JSON.parse(file('k6.json')) as Summary;
    const { med, max, 'p(90)': p90, 'p(99)': p99, 'p(99.9)': p999 } = metrics.http_req_duration?.values ?? {};
    const begun = metrics.http_reqs?.values.count ?? 0;
    const failed = metrics.http_req_failed?.values.passes ?? 0; // "passes" counts the failed requests
    const dropped = metrics.dropped_iterations?.values.count ?? 0;
    return {
      ...times([med, p90, p99, p999, max]),
      requests: { asked: begun + dropped, begun, done: begun - failed, failed },
      said: [
        ...(dropped > 0 ? [['dropped_iterations', dropped] satisfies Counted] : []),
        ...linesWith(stderr, /Insufficient VUs/).map((line) => /msg="(.*?)"/.exec(line)?.[1] ?? line),
      ],
    };
  },
});

const late = 'Iterations start on time while a VU is free; http_req_duration begins when a request is sent.';

export const k6: readonly Tool[] = [
  by('constant-arrival-rate', { name: 'k6-constant', model: 'open', why: late }),
  by('ramping-arrival-rate', { name: 'k6-ramping', model: 'open', why: late }),
  by('constant-vus', { name: 'k6-vus', model: 'closed', why: 'A closed loop.' }),
];
