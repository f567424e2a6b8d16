import { HERE, TIMEOUT, type Tool } from '../tool.ts';

export const loop: Tool = {
  name: 'loop',
  title: 'a closed loop of twenty lines',
  model: 'closed',
  why: 'Known to be wrong: it times each request, and sends none while it waits.',
  install: 'npm run setup',
  version: ['node --version', /v([\d.]+)/],
  command: ({ url, seconds }) => `node ${HERE}/loop.mjs ${url} ${seconds} ${TIMEOUT}`,
  read({ stdout }) {
    const { done, failed, ...times } = JSON.parse(stdout) as Record<string, number>;
    return { ...times, requests: { done: done as number, failed: failed as number }, said: [] };
  },
};
