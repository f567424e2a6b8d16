import { msOf, TIMEOUT, type Tool, times } from '../tool.ts';
import { wrk } from './wrk.ts';

const FOLDER = '.stack/generators/wrk2';

export const wrk2: Tool = {
  name: 'wrk2',
  title: 'wrk2 -R',
  model: 'open',
  why: 'Latency begins when a request is due. The first 10 s are for calibration and are not in it.',
  install: `mkdir -p .stack/generators/bin && git clone --quiet https://github.com/giltene/wrk2 ${FOLDER} && git -C ${FOLDER} checkout --quiet 44a94c1 && make -C ${FOLDER} && cp ${FOLDER}/wrk .stack/generators/bin/wrk2`,
  version: ['wrk2 -v', /wrk ([\d.]+)/],
  command: ({ url, rate, connections, seconds }) =>
    `wrk2 -t1 -c${connections} -d${seconds}s -R${rate} --timeout ${TIMEOUT}s --latency ${url}`,
  read(output) {
    const at = (p: string) => msOf(new RegExp(`^ *${p}% +(\\S+) *$`, 'm').exec(output.stdout)?.[1]);
    const { requests, said } = wrk.read(output);
    if (!at('100.000')) return { requests, said }; // it recorded nothing
    return {
      ...times(['50.000', '90.000', '99.000', '99.900', '100.000'].map(at)),
      ...{ requests, said },
    };
  },
};
