// k6/http by one of k6's executors: EXECUTOR, RATE, SECONDS, VUS and URL. The summary goes to SUMMARY.
import http from 'k6/http';

const { EXECUTOR = '', URL: url = '', SUMMARY = '' } = __ENV;
const rate = Number(__ENV.RATE);
const duration = `${__ENV.SECONDS}s`;
// As many VUs as the rate needs if each answer takes a second, and more if each takes the whole time-out.
const pool = { timeUnit: '1s', preAllocatedVUs: rate, maxVUs: rate * Number(__ENV.TIMEOUT) };

/** @type {Record<string, object>} */
const executors = {
  'constant-arrival-rate': { rate, duration, ...pool },
  'ramping-arrival-rate': { startRate: rate, stages: [{ target: rate, duration }], ...pool },
  'constant-vus': { vus: Number(__ENV.VUS), duration },
};

export const options = {
  scenarios: { load: { executor: EXECUTOR, ...executors[EXECUTOR] } },
  summaryTrendStats: ['med', 'p(90)', 'p(99)', 'p(99.9)', 'max'],
};

export default function () {
  http.get(url, { timeout: `${__ENV.TIMEOUT}s` });
}

/** @param {unknown} data */
export function handleSummary(data) {
  return { [SUMMARY]: JSON.stringify(data) };
}
