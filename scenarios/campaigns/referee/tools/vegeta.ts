import { TIMEOUT, type Tool, times } from '../tool.ts';

interface Report {
  /** ns. */
  latencies: Record<'50th' | '90th' | '99th' | 'max', number>;
  requests: number;
  success: number;
  errors: string[] | null;
}

export const vegeta: Tool = {
  name: 'vegeta',
  title: 'vegeta',
  model: 'open',
  why: 'Sends on time over as many connections as it needs; its latency begins when a request is sent.',
  install: 'GOBIN="$PWD/.stack/generators/bin" go install github.com/tsenart/vegeta/v12@v12.12.0',
  version: ['go version -m "$(command -v vegeta)"', /\bmod\s+\S+\s+v(\S+)/],
  command({ url, rate, connections, seconds }) {
    const flags = `-rate=${rate}/s -duration=${seconds}s -workers=${connections} -timeout=${TIMEOUT}s`;
    return `echo "GET ${url}" | vegeta attack ${flags} | vegeta report -type=json`;
  },
  read({ stdout }) {
    const { latencies, requests, success, errors } = JSON.parse(stdout) as Report;
    const done = Math.round(requests * success);
    return {
      ...times([latencies['50th'], latencies['90th'], latencies['99th'], undefined, latencies.max], 1e6),
      requests: { begun: requests, done, failed: requests - done },
      said: errors ?? [],
    };
  },
};
