import { linesWith, numberIn, TIMEOUT, type Tool, times } from '../tool.ts';

export const ab: Tool = {
  name: 'ab',
  title: 'ab',
  model: 'closed',
  why: 'A closed loop, timed in whole milliseconds.',
  install: 'apt-get install --yes apache2-utils',
  version: ['ab -V', /Version ([\d.]+)/],
  // -t sets -n to 50,000, so a higher one comes after it. -r goes on after a socket error.
  command: ({ url, rate, loops, seconds }) =>
    `ab -q -k -r -c ${loops} -t ${seconds} -n ${50 * rate * seconds} -s ${TIMEOUT} ${url}`,
  read({ stdout, stderr }) {
    const at = (p: number) => numberIn(stdout, new RegExp(`^\\s+${p}%\\s+(\\d+)`, 'm'));
    return {
      ...times([at(50), at(90), at(99), undefined, at(100)]),
      requests: {
        done: numberIn(stdout, /^Complete requests:\s+(\d+)/m),
        failed: numberIn(stdout, /^Failed requests:\s+(\d+)/m),
      },
      said: linesWith(stderr, /\S/),
    };
  },
};
