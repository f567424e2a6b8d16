import type { Run } from '../../../../reports/contract/run.ts';
import { HERE, K6, TIMEOUT, type Tool, times } from '../tool.ts';

const timesOf = ({ p50, p90, p99, p999, max }: Run['latency']['arrival']) =>
  times([p50, p90, p99, p999, max]);

const base: Omit<Tool, 'name' | 'title' | 'command'> = {
  model: 'open',
  why: "Arrival begins when a request is due, so the generator's own lateness is in it.",
  own: true,
  install: 'npm run setup',
  version: ['./k6 x arrival --version', /arrival v([\d.]+)/],
  read({ file }) {
    const { latency, account, verdict } = JSON.parse(file('run/run.json')) as Run;
    const { scheduled, sent, failed } = account.requests;
    return {
      ...timesOf(latency.arrival),
      sent: timesOf(latency.from_send),
      requests: { asked: scheduled, begun: sent, done: account.arrived, failed },
      said: verdict.reasons,
    };
  },
};

const by =
  (pump: boolean): Tool['command'] =>
  ({ url, rate, seconds }, folder) => {
    const settings = `-e URL=${url} -e RATE=${rate} -e SECONDS=${seconds} -e TIMEOUT=${TIMEOUT} -e PUMP=${pump}`;
    return `${K6} ${settings} -e "DIR=${folder}/run" ${HERE}/arrival.js`;
  };

export const arrival: readonly Tool[] = [
  { ...base, name: 'send', title: 'run.send()', command: by(false) },
  { ...base, name: 'pump', title: 'run.pump()', command: by(true) },
];
