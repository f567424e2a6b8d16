import { linesWith, numberIn, TIMEOUT, type Tool, times } from '../tool.ts';

export const httperf: Tool = {
  name: 'httperf',
  title: 'httperf',
  model: 'open',
  why: 'Opens a connection for each request, at the rate. It reports a median of 1 ms steps and a maximum, and no percentile.',
  install: 'apt-get install --yes httperf',
  version: ['httperf --version', /httperf-([\d.]+)/],
  command({ url, rate, seconds }) {
    const { hostname, port } = new URL(url);
    const load = `--rate ${rate} --num-conns ${rate * seconds} --num-calls 1 --timeout ${TIMEOUT}`;
    return `httperf --hog --server ${hostname} --port ${port} --uri / ${load}`;
  },
  read({ stdout, stderr }) {
    const [, max, median] =
      /^Connection time \[ms\]: min \S+ avg \S+ max (\S+) median (\S+)/m.exec(stdout) ?? [];
    return {
      ...times([Number(median), undefined, undefined, undefined, Number(max)]),
      requests: {
        begun: numberIn(stdout, /^Total: .*requests (\d+)/m),
        done: numberIn(stdout, /^Total: .*replies (\d+)/m),
        failed: numberIn(stdout, /^Errors: total (\d+)/m),
      },
      said: linesWith(`${stderr}\n${stdout}`, /fd-unavail [1-9]|^Errors: total [1-9]/),
    };
  },
};
