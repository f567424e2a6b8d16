import { type Counted, msOf, TIMEOUT, type Tool, times, total } from '../tool.ts';

const closed: Tool = {
  name: 'hey',
  title: 'hey',
  model: 'closed',
  why: 'A closed loop.',
  install: 'GOBIN="$PWD/.stack/generators/bin" go install github.com/rakyll/hey@v0.1.4',
  version: ['go version -m "$(command -v hey)"', /\bmod\s+\S+\s+v(\S+)/],
  read({ stdout }) {
    const at = (p: number) => msOf(new RegExp(`^\\s+${p}% in (.+)$`, 'm').exec(stdout)?.[1]);
    const [answers = '', errors = ''] = stdout.split('Error distribution:');
    const counted = (text: string, pattern: RegExp) =>
      [...text.matchAll(pattern)].map(([, count, what = '']): Counted => [what, Number(count)]);
    const said = counted(errors, /^\s+\[(\d+)\]\s+(.+)$/gm);
    return {
      ...times([at(50), at(90), at(99), undefined, msOf(/^\s+Slowest:\s+(.+)$/m.exec(stdout)?.[1])]),
      requests: {
        done: total(counted(answers, /^\s+\[2\d\d\]\s+(\d+) responses/gm)),
        failed: total(said),
      },
      said,
    };
  },
  command: ({ url, loops, seconds }) => `hey -z ${seconds}s -c ${loops} -t ${TIMEOUT} ${url}`,
};

export const hey: readonly Tool[] = [
  closed,
  {
    ...closed,
    name: 'hey-q',
    title: 'hey -q',
    model: 'paced',
    why: 'Each connection is held to its share of the rate, and what was due in a pause is not sent.',
    command: ({ url, rate, connections, seconds }) =>
      `hey -z ${seconds}s -c ${connections} -q ${rate / connections} -t ${TIMEOUT} ${url}`,
  },
];
