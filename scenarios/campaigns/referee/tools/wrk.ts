import { linesWith, msOf, numberIn, TIMEOUT, type Tool, times } from '../tool.ts';

export const wrk: Tool = {
  name: 'wrk',
  title: 'wrk',
  model: 'closed',
  why: 'A closed loop. It adds latencies that it takes to be left out after a slow answer, by the mean interval between requests.',
  install: 'apt-get install --yes wrk',
  version: ['wrk -v', /wrk (?:\w+\/)?([\d.]+)/],
  command: ({ url, loops, seconds }) =>
    `wrk -t1 -c${loops} -d${seconds}s --timeout ${TIMEOUT}s --latency ${url}`,
  read({ stdout }) {
    const at = (p: number) => msOf(new RegExp(`^\\s+${p}%\\s+(\\S+) *$`, 'm').exec(stdout)?.[1]);
    const max = msOf(/^\s+Latency\s+\S+\s+\S+\s+(\S+)/m.exec(stdout)?.[1]);
    const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout) ?? [];
    const failed = errors.slice(1).reduce((sum, count) => sum + Number(count), 0);
    return {
      ...times([at(50), at(90), at(99), undefined, max]),
      requests: { done: numberIn(stdout, /^\s*(\d+) requests in /m), failed },
      said: linesWith(stdout, /Socket errors/),
    };
  },
};
