import assert from 'node:assert/strict';
import { test } from 'node:test';
import { main, orderOf } from '../campaigns/referee/main.ts';
import { type Options, readOptions } from '../campaigns/referee/options.ts';
import { figuresOf, type Output } from '../campaigns/referee/tool.ts';
import { TOOLS } from '../campaigns/referee/tools.ts';
import { cpuIn } from '../campaigns/referee/trial.ts';
import { assertRefused } from './harness.ts';

/** What a tool's adapter reads in its output. */
function read(name: string, { stdout = '', stderr = '', files = {} as Record<string, string> }) {
  const tool = TOOLS.find((one) => one.name === name);
  assert.ok(tool);
  const output: Output = { stdout, stderr, file: (path) => files[path] ?? assert.fail(`reads ${path}`) };
  return figuresOf(tool.read(output));
}

// The outputs below are recorded, and shortened where nothing is read.

// Regression: wrk pads seconds with a space, and a p99 of 1 s or more was not found.
test("wrk's units and socket errors are read", () => {
  const stdout = `Running 3s test @ http://127.0.0.1:18181/
  1 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    48.68ms  100.73ms 528.56ms   89.49%
    Req/Sec     1.16k     0.93k    2.88k    68.18%
  Latency Distribution
     50%  903.00us
     75%   36.85ms
     90%  159.19ms
     99%    1.02s 
  2751 requests in 3.08s, 405.67KB read
  Socket errors: connect 0, read 56, write 0, timeout 1
Requests/sec:    894.10
`;
  assert.deepEqual(read('wrk', { stdout }), {
    ...{ p50_ms: 0.903, p90_ms: 159.19, p99_ms: 1020, max_ms: 528.56 },
    requests: { done: 2751, failed: 57 },
    said: ['Socket errors: connect 0, read 56, write 0, timeout 1'],
  });
});

test("ab's percentages are read, and a run that it gave up has none", () => {
  const stdout = `Complete requests:      6551
Failed requests:        131
   (Connect: 0, Receive: 0, Length: 131, Exceptions: 0)
Total:          0    6  26.5      3     522

Percentage of the requests served within a certain time (ms)
  50%      3
  90%      8
  99%     49
 100%    522 (longest request)
`;
  assert.deepEqual(read('ab', { stdout }), {
    ...{ p50_ms: 3, p90_ms: 8, p99_ms: 49, max_ms: 522 },
    requests: { done: 6551, failed: 131 },
    said: [],
  });
  const stderr = 'apr_pollset_poll: The timeout specified has expired (70007)\n';
  assert.deepEqual(read('ab', { stderr }), { requests: {}, said: [stderr.trim()] });
});

test('httperf reports a median and a maximum', () => {
  const stdout = `Total: connections 300 requests 300 replies 294 test-duration 2.994 s
Connection time [ms]: min 1.5 avg 53.8 max 501.8 median 9.5 stddev 104.6
Connection time [ms]: connect 0.4
Errors: total 6 client-timo 0 socket-timo 0 connrefused 0 connreset 6
Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0
`;
  assert.deepEqual(read('httperf', { stdout }), {
    ...{ p50_ms: 9.5, max_ms: 501.8 },
    requests: { begun: 300, done: 294, failed: 6 },
    said: ['Errors: total 6 client-timo 0 socket-timo 0 connrefused 0 connreset 6'],
  });
});

test('siege reports its longest transaction in seconds', () => {
  const stdout = `
{	"transactions":			        1495,
	"successful_transactions":	        1495,
	"failed_transactions":		           3,
	"longest_transaction":		        0.02
}
`;
  const requests = { done: 1495, failed: 3 };
  assert.deepEqual(read('siege', { stdout }), { max_ms: 20, requests, said: [] });
});

test("vegeta's nanoseconds are read", () => {
  const latencies =
    '{"total":6890727056,"mean":8613408,"50th":2189001,"90th":2268037,"95th":3135726,"99th":6843466,"max":5003002165,"min":2111965}';
  const stdout = `{"latencies":${latencies},"requests":800,"success":0.99875,"status_codes":{"0":1,"200":799},"errors":["deadline exceeded"]}`;
  assert.deepEqual(read('vegeta', { stdout }), {
    ...{ p50_ms: 2.189001, p90_ms: 2.268037, p99_ms: 6.843466, max_ms: 5003.002165 },
    requests: { begun: 800, done: 799, failed: 1 },
    said: ['deadline exceeded'],
  });
});

test("wrk2's recorded latency is read, and a run in which it recorded nothing has none", () => {
  const output = (ms: string) => `  Thread calibration: mean lat.: 44.420ms, rate sampling interval: 378ms
    Latency    73.49ms  134.07ms 485.12ms   83.33%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    ${ms}
 75.000%    ${ms}
 90.000%    ${ms}
 99.000%    ${ms}
 99.900%    ${ms}
100.000%    ${ms}

  1201 requests in 12.00s, 177.10KB read
`;
  assert.deepEqual(read('wrk2', { stdout: output('1.02s ') }), {
    ...{ p50_ms: 1020, p90_ms: 1020, p99_ms: 1020, p999_ms: 1020, max_ms: 1020 },
    requests: { done: 1201, failed: 0 },
    said: [],
  });
  assert.deepEqual(read('wrk2', { stdout: output('0.00us') }), {
    requests: { done: 1201, failed: 0 },
    said: [],
  });
});

test("fortio's seconds are read, and that it fell behind", () => {
  const stdout = `{"RequestedQPS": "100","DurationHistogram": {"Count": 400, "Max": 0.5,
    "Percentiles": [{"Percentile": 50,"Value": 0.0025},{"Percentile": 75,"Value": 0.003},{"Percentile": 90,"Value": 0.005},
    {"Percentile": 99,"Value": 0.25},{"Percentile": 99.9,"Value": 0.5}]},"ErrorsDurationHistogram": {"Count": 2}}
Code 200 : 398 (99.5 %)
`;
  assert.deepEqual(
    read('fortio', { stdout, stderr: 'WARNING 10.20% of sleep were falling behind\n# target\n' }),
    {
      ...{ p50_ms: 2.5, p90_ms: 5, p99_ms: 250, p999_ms: 500, max_ms: 500 },
      requests: { begun: 400, done: 398, failed: 2 },
      said: ['WARNING 10.20% of sleep were falling behind'],
    },
  );
});

test("hey's seconds are read, and its answers apart from its errors", () => {
  const stdout = `Summary:
  Total:	3.0705 secs
  Slowest:	0.4813 secs

Response time histogram:
  0.002 [1]	|
  0.050 [223]	|■■■■

Latency distribution:
  50% in 0.0034 secs
  90% in 0.0422 secs
  99% in 0.4811 secs

Status code distribution:
  [200]	238 responses

Error distribution:
  [2]	Get "http://127.0.0.1:18181/": EOF
`;
  const { said, ...figures } = read('hey-q', { stdout });
  assert.deepEqual(figures.requests, { done: 238, failed: 2 });
  assert.deepEqual(said, ['2 × Get "http://127.0.0.1:PORT/": EOF']);
  const { p50_ms = 0, p90_ms = 0, p99_ms = 0, max_ms = 0 } = figures;
  assert.deepEqual(
    [p50_ms, p90_ms, p99_ms, max_ms].map((ms) => Number(ms.toFixed(3))),
    [3.4, 42.2, 481.1, 481.3],
  );
});

test("oha's seconds are read, and its errors by name", () => {
  const stdout = `{"summary":{"successRate":0.98,"total":3.0,"slowest":0.5,"fastest":0.001},
    "latencyPercentiles":{"p10":0.002,"p50":0.0025,"p90":0.25,"p95":0.364,"p99":0.48,"p99.9":0.5,"p99.99":0.5},
    "statusCodeDistribution":{"200":294},"errorDistribution":{"connection closed before message completed":6}}`;
  assert.deepEqual(read('oha', { stdout }), {
    ...{ p50_ms: 2.5, p90_ms: 250, p99_ms: 480, p999_ms: 500, max_ms: 500 },
    requests: { done: 294, failed: 6 },
    said: ['6 × connection closed before message completed'],
  });
});

test("autocannon's figures are read", () => {
  const stdout = `{"connections":20,"errors":21192,"timeouts":0,"resets":0,"2xx":415,
    "latency":{"average":5.03,"p50":3,"p90":11,"p97_5":18,"p99":22,"p99_9":24,"max":24,"totalCount":2276},
    "requests":{"average":103.75,"total":415,"sent":1017}}`;
  assert.deepEqual(read('autocannon-R', { stdout }), {
    ...{ p50_ms: 3, p90_ms: 11, p99_ms: 22, p999_ms: 24, max_ms: 24 },
    requests: { begun: 1017, done: 415, failed: 21_192 },
    said: [],
  });
});

// Regression: its CSV files had 307 of 420 requests, and another p99.
test("Locust's last tables are read", () => {
  const stderr = `Type     Name           # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
--------|--------------|-------|-------------|-------|-------|-------|-------|--------|-----------
GET      /                  740  370(50.00%) |      8       1      61      7 |  204.90      102.45
--------|--------------|-------|-------------|-------|-------|-------|-------|--------|-----------
         Aggregated         740  370(50.00%) |      8       1      61      7 |  204.90      102.45

Response time percentiles (approximated)
Type     Name         50%    66%    75%    80%    90%    95%    98%    99%  99.9% 99.99%   100% # reqs
--------|-----------|--------|------|------|------|------|------|------|------|------|------|------|------
GET      /              7      9     10     11     17     23     44     53     62     62     62    740
--------|-----------|--------|------|------|------|------|------|------|------|------|------|------|------
         Aggregated     7      9     10     11     17     23     44     53     62     62     62    740
`;
  assert.deepEqual(read('locust', { stderr }), {
    ...{ p50_ms: 7, p90_ms: 17, p99_ms: 53, p999_ms: 62, max_ms: 61 },
    requests: { done: 370, failed: 370 },
    said: [],
  });
});

test("k6's summary is read, with what it dropped", () => {
  const metrics = {
    http_req_duration: {
      values: { med: 2.141449, 'p(90)': 2.26, 'p(99)': 5.86, 'p(99.9)': 1007.4, max: 5000.5 },
    },
    http_req_failed: { values: { rate: 0.00125, passes: 1, fails: 800 } },
    http_reqs: { values: { count: 801, rate: 100.2 } },
    dropped_iterations: { values: { count: 9, rate: 1 } },
  };
  const warning =
    'time="2026-11-29T02:21:50Z" level=warning msg="Insufficient VUs, reached 400 active VUs and cannot initialize more" executor=constant-arrival-rate\n';
  assert.deepEqual(
    read('k6-constant', { stderr: warning, files: { 'k6.json': JSON.stringify({ metrics }) } }),
    {
      ...{ p50_ms: 2.141449, p90_ms: 2.26, p99_ms: 5.86, p999_ms: 1007.4, max_ms: 5000.5 },
      requests: { asked: 810, begun: 801, done: 800, failed: 1 },
      said: ['9 × dropped_iterations', 'Insufficient VUs, reached 400 active VUs and cannot initialize more'],
    },
  );
});

test("Artillery's report is read, without the errors that it counts again by endpoint", () => {
  const aggregate = {
    counters: {
      ...{ 'vusers.created': 800, 'http.requests': 800, 'http.codes.200': 799, 'http.responses': 799 },
      ...{ 'plugins.metrics-by-endpoint./.errors.ETIMEDOUT': 1, 'errors.ETIMEDOUT': 1 },
    },
    summaries: {
      'http.response_time': { max: 54, count: 799, p50: 2, p90: 7.9, p95: 10.1, p99: 16, p999: 32.8 },
    },
  };
  assert.deepEqual(read('artillery', { files: { 'report.json': JSON.stringify({ aggregate }) } }), {
    ...{ p50_ms: 2, p90_ms: 7.9, p99_ms: 16, p999_ms: 32.8, max_ms: 54 },
    requests: { asked: 800, begun: 800, done: 799, failed: 1 },
    said: ['errors.ETIMEDOUT'],
  });
});

test('arrival of our own run is read, and what it is from the moment of sending', () => {
  const arrival = { count: 799, p50: 2.159, p90: 3.935, p99: 36.319, p999: 71.479, max: null };
  const run = {
    latency: { arrival, from_send: { ...arrival, p50: 2.075 } },
    account: { requests: { scheduled: 800, sent: 800, retried: 0, failed: 1 }, arrived: 799 },
    verdict: { reasons: ['1 of 800 requests got no 2xx: 1 × reset'] },
  };
  const times = { p50_ms: 2.159, p90_ms: 3.935, p99_ms: 36.319, p999_ms: 71.479 };
  assert.deepEqual(read('send', { files: { 'run/run.json': JSON.stringify(run) } }), {
    ...{ ...times, sent: { ...times, p50_ms: 2.075 } },
    requests: { asked: 800, begun: 800, done: 799, failed: 1 },
    said: run.verdict.reasons,
  });
});

test('what a tool says again, with another port or time, is one line with its number', () => {
  const reset = (port: number) => `read tcp 127.0.0.1:${port}->127.0.0.1:8080: reset`;
  const warned = (s: number) => `[2026-11-29 02:21:5${s},118] host/WARNING: 90 % CPU`;
  const said = (...said: (string | [string, number])[]) => figuresOf({ requests: {}, said }).said;
  assert.deepEqual(said(reset(40_001), [reset(40_002), 1200], ['EOF', 1], warned(0), warned(7)), [
    ...['1,201 × read tcp 127.0.0.1:PORT->127.0.0.1:PORT: reset', 'EOF', '2 × host/WARNING: 90 % CPU'],
  ]);
  assert.equal(said(...'abcdef').length, 5);
});

test('the commands ask each tool for the same load', () => {
  const load = { url: 'http://127.0.0.1:8080/', rate: 400, connections: 20, loops: 1, seconds: 12 };
  const line = (name: string) => TOOLS.find((tool) => tool.name === name)?.command(load, 'run') ?? '';
  assert.match(line('hey-q'), /-c 20 -q 20 /);
  assert.match(line('httperf'), /--rate 400 --num-conns 4800 /);
  assert.match(line('wrk'), /-c1 -d12s/);
  assert.match(line('ab'), /-t 12 -n /, '-t sets -n, so -n comes after it');
});

test("a shell's times are the CPU of its children", () => {
  assert.equal(cpuIn('0m0.010000s 0m0.000000s\n1m2.250000s 0m0.750000s\n'), 63);
  assert.equal(cpuIn(''), undefined, 'the tool was killed');
});

test('every other repeat is in reverse order', () => {
  const order = orderOf(['a', 'b'], ['freeze', 'lost'], 3).map(({ tool, truth, repeat }) =>
    [tool, truth, repeat].join(' '),
  );
  assert.deepEqual(order, [
    ...['a freeze 1', 'b freeze 1', 'a lost 1', 'b lost 1'],
    ...['b lost 2', 'a lost 2', 'b freeze 2', 'a freeze 2'],
    ...['a freeze 3', 'b freeze 3', 'a lost 3', 'b lost 3'],
  ]);
});

test('options have defaults, and a refusal names what is allowed', async () => {
  const options = readOptions([]) as Options;
  assert.deepEqual([options.rate, options.seconds, options.repeats], [400, 20, 1]);
  assert.equal(options.tools.length, TOOLS.length);
  const some = readOptions(['--tools', 'wrk,send', '--truths', 'freeze']) as Options;
  assert.deepEqual(
    some.tools.map(({ name }) => name),
    ['send', 'wrk'],
    'in the order of the table',
  );
  for (const [args, message] of [
    [['--tools', 'vegetta'], /--tools is "vegetta", vegeta is; allowed: send, pump, /],
    [['--truths', 'frozen'], /--truths is "frozen".*allowed: constant, slow, freeze/],
    [['--connections', '1'], /--connections is "1"; allowed: whole numbers from 2 to 1024/],
  ] as const)
    await assertRefused(main, args, {}, message);
});
