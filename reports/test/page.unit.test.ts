/** What the page of a run says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { count, ms } from '../format.ts';
import { golden } from './goldens.ts';
import { sampledRun } from './odd.ts';
import { rowOf, runPage, tableOf, text, texts, titles } from './rendering.ts';

/** The chart titles of the passing run. */
const TITLES = {
  'Arrival p99': 'p99 of each second was below the limit of 250 ms: at most 5.05 ms (0:40)',
  'Latency by percentile': 'Half of the deliveries arrived within 2.31 ms, 99.999 % within 16.4 ms',
  'Distribution of arrival': '31 % of the deliveries took 2.00 to 2.51 ms',
  'Latency by load': 'In the slowest second, at 2,850 messages/s, p99 was about 5.26 ms',
  Canary: 'The slowest canary took 3.35 ms',
  'Mean of each stage': 'The largest stage is queue: 44 % of the mean arrival latency, 2.39 ms',
  Messages: 'Up to 2,850 messages a second were scheduled (0:30); all 89,300 were accepted',
  Payload: 'Up to 661 kB of payload arrived a second (0:32)',
  Deliveries: 'Up to 4,057 deliveries a second arrived (0:32); all 126,900 that were due did',
  Backlog: 'Backlog peaked at 14 deliveries (0:31)',
  'In flight': 'Up to 2 messages waited for an answer (0:48)',
  'Arrival latency': 'The worst second’s arrival p99 is 5.05 ms (0:40)',
  'Arrival latency, all deliveries':
    'Half of the deliveries arrived within 2.31 ms, one in 100 took longer than 4.39 ms',
  'HTTP latency': 'The worst second’s HTTP p99 is 1.67 ms (0:47)',
  CPU: 'k6 used most: up to 40.5 % of one core',
  Memory: 'k6 used most: up to 106 MB resident',
  'Host: what its cores did': 'The host was 47 % idle on average, minimum 16.2 %',
  'Host: context switches and interrupts': 'Up to 36,696 context switches a second; the host did not swap',
};

test('the page of a passing run has answer, figures, equation, stages and charts', () => {
  const passing = golden('passing');
  const run = { ...passing, environment: { ...passing.environment, arrival: '1.2.3' } };
  const { arrival, http } = run.latency;
  const page = runPage(run);
  assert.equal(text(page, '.answer'), run.answer?.sentence);
  assert.deepEqual(texts(page, '.tiles dd:not(.note)'), [
    ...[arrival.p99, http.p99, arrival.p50].map((v) => `${ms(v)} ms`),
    ...['0 ', '2,850 messages/s', '40.5 % of a core'],
  ]);
  assert.deepEqual(
    texts(page, '.tiles .note'),
    run.facts.tiles.map(({ note }) => note),
  );
  assert.match(text(page, '#trust .aside'), /shared one host and its 2 cores/);
  assert.deepEqual(texts(page, '#account .equation .name'), [
    ...['scheduled', 'dropped', 'rejected', 'unknown', 'arrived', 'dead-lettered', 'queued', 'lost'],
  ]);
  const balance = `It balances: the ends add up to ${count(run.account.scheduled)}`;
  assert.ok(text(page, '.balance').startsWith(balance));
  assert.equal(texts(page, '.stages tbody tr').length, 6);
  assert.match(text(page, '.stages'), /The means add up to the mean arrival latency, /);
  assert.match(text(page, '.glossary'), /canary.*one message a second/);
  assert.match(text(page, 'footer'), /Arrival 1\.2\.3\b/);
  assert.deepEqual(Object.fromEntries(titles(page)), TITLES);
});

test('CPU and memory charts omit the host, whose memory would flatten the other lines', () => {
  const page = runPage('real');
  const of = titles(page);
  assert.match(of.get('CPU') ?? '', /^relay-1 used most: up to 16\.1/);
  assert.match(of.get('Memory') ?? '', /^relay-1 used most: up to 167/);
  assert.match(text(page, '.resources table'), /host \(all cores, interrupts included; memory in use\)/);
});

test('small figures of a script are not rounded to 0', () => {
  const run = golden('passing');
  run.figures = [
    { name: 'HTTP mean', value: 0.0483, unit: 'ms' },
    { name: 'held', value: 15_000, unit: 'connections' },
  ];
  assert.match(text(runPage(run), '.script'), /HTTP mean0\.048 msheld15,000 connections$/);
});

test('what decided stands beside the verdict, and what is in doubt below it', () => {
  const run = golden('passing');
  run.verdict.meaning = 'every limit held; the script allows what did not arrive: 5 lost';
  run.verdict.doubts = ['the generator was late'];
  run.facts.reasons = ['a reason'];
  const page = runPage(run);
  assert.equal(text(page, '.verdict .meaning'), run.verdict.meaning);
  assert.deepEqual(texts(page, '.verdict li'), ['a reason', 'in doubt: the generator was late']);
});

test('a verdict with many points shows the first five, and the rest behind their count', () => {
  const run = golden('failing');
  const some = (n: number, what: string) => Array.from({ length: n }, (_, i) => `${what} ${i + 1}`);
  run.facts.reasons = some(4, 'reason');
  run.verdict.doubts = some(2, 'doubt');
  assert.equal(runPage(run).querySelector('.verdict details'), null, 'a fold of one is as long as its point');
  run.verdict.doubts = some(3, 'doubt');
  const page = runPage(run);
  assert.equal(texts(page, '.verdict li').length, 7);
  assert.equal(text(page, '.verdict details summary'), '2 more');
  assert.deepEqual(texts(page, '.verdict details li'), ['in doubt: doubt 2', 'in doubt: doubt 3']);
});

// Regression: messages that a client publishes at the broker had "request 0 % of all · mean 0 ms", and so on.
test('a stage that takes no time is not listed where the time goes', () => {
  assert.deepEqual(
    texts(runPage(golden('connections')), '.journey .parts li').map((line) => line.trim().split(/\s/)[0]),
    ['schedule', 'delivery'],
  );
  assert.equal(texts(runPage(golden('passing')), '.journey .parts li').length, 6);
});

// Regression: Redis counts its clients too, and stood as a broker without connections.
test('the chart of connections has the brokers', () => {
  const run = golden('connections');
  const broker = run.resources.find(({ process }) => process === 'mosquitto');
  const redis = run.resources.find(({ process }) => process === 'redis');
  assert.ok(broker && redis);
  redis.figures = broker.figures;
  assert.doesNotMatch(text(runPage(run), '.hero'), /redis/);
});

test('the chart of a burst has what waited before the ingest, where something did', () => {
  const run = golden('spike');
  assert.doesNotMatch(text(runPage(run), '.hero'), /waits for an answer/);
  Object.assign(run.timeline[4] ?? {}, { in_flight: 900 });
  assert.match(text(runPage(run), '.hero'), /the backlog, and what waits for an answer, behind them/);
});

test('a search distinguishes rates that are undecided from those that did not hold', () => {
  const run = golden('capacity');
  assert.doesNotMatch(text(runPage(run), '.hero'), /undecided/);
  for (const probe of run.probes?.slice(-2, -1) ?? []) Object.assign(probe, { held: false, undecided: true });
  assert.match(text(runPage(run), '.hero'), /small ○ undecided/);
});

test('the box of the verdict counts the warnings, and leads to them', () => {
  const run = golden('passing');
  assert.equal(runPage(run).querySelector('.verdict .warnings'), null);
  run.facts.warnings = '1 warning: the host was saturated from 0:15 to 0:51';
  const page = runPage(run);
  assert.equal(text(page, '.verdict .warnings'), run.facts.warnings);
  const link = page.querySelector('.verdict .warnings a')?.getAttribute('href') ?? '';
  assert.ok(page.querySelector(link), 'the findings are on the page');
});

/** The name of the first chart of a page. */
const firstChart = (run: Parameters<typeof runPage>[0]) => text(runPage(run), '.chart .what');

test('the first chart shows what failed', () => {
  assert.match(firstChart('refusing'), /^Accepted and rejected/);
  assert.match(firstChart('connections'), /^Connections/);
  assert.match(firstChart('capacity'), /^Search for the capacity/);
  assert.match(firstChart('spike'), /^Burst and drain/);
  assert.match(firstChart('closed'), /^Latency by concurrency/);
  for (const name of ['failing', 'gap', 'real', 'soak', 'without-stages'] as const)
    assert.match(firstChart(name), /^Arrival p99/, name);
});

test('there is a first chart without a latency, and it stands above the way of the messages', () => {
  const run = golden('passing');
  run.timeline = run.timeline.map((second) => ({ ...second, arrival: null }));
  assert.match(firstChart(run), /^Due and arrived/);
  assert.match(firstChart('unbalanced'), /^Due and arrived/);
  const order = runPage('failing')
    .querySelectorAll('header :is(.hero, .journey)')
    .map((part) => part.classNames);
  assert.deepEqual(order, ['hero', 'journey']);
});

test('the head of a merged run says how many generators it had', () => {
  assert.match(text(runPage('three'), 'header .meta'), / · 3 generators · profile /);
  assert.doesNotMatch(text(runPage('passing'), 'header .meta'), /generator/);
});

test('a stage has its names and shares with what they are of, and the messages a heading of their own', () => {
  const run = golden('passing');
  const headings = texts(runPage(run), '.journey h3');
  assert.deepEqual(headings, ['Where the time goes', 'What became of the messages']);
  const [, , , queue] = texts(runPage(run), '.journey .parts li');
  assert.match(queue ?? '', /queue 44 % of all · mean 1\.06 ms$/);
  Object.assign(run.facts.journey, { slow_mean_ms: 9 });
  Object.assign(run.facts.journey.stages[3] ?? {}, { slow_share: 0.19 });
  const slow = runPage(run);
  assert.match(texts(slow, '.parts li')[3] ?? '', /44 % of all · 19 % of the slowest 1 % · mean 1\.06 ms$/);
  assert.deepEqual(texts(slow, '.journey .bar-of > span:first-child'), ['all deliveries', 'slowest 1 %']);
});

test('a figure in doubt has its readings in the table of the rules', () => {
  const run = golden('failing');
  for (const rule of run.verdict.rules) {
    if (rule.name === 'arrival_p99')
      Object.assign(rule, {
        ok: null,
        undecided: true,
        at_least: 10,
        at_most: 310,
        doubted_by: ['lateness'],
      });
  }
  const [, measured, result] = rowOf(runPage(run), 'arrival_p99');
  assert.match(measured ?? '', /between 10 and 310 ms$/);
  assert.equal(result, 'undecided');
});

test('an interrupted run lists its limits as not judged', () => {
  const rules = tableOf(runPage('incomplete'), 'Limits that the run was judged by');
  const results = texts(rules, 'tbody td:last-child');
  assert.ok(results.length > 0);
  assert.deepEqual([...new Set(results)], ['not judged']);
});

test('each rule has its limit, measured value and result', () => {
  const run = golden('failing');
  assert.deepEqual(rowOf(runPage(run), 'arrival_p99'), [
    '< 250 ms',
    `${ms(run.latency.arrival.p99)} ms`,
    '✕ did not hold',
  ]);
});

test('an interrupted run shows how far it came and which phase it did not reach', () => {
  const page = runPage('incomplete');
  assert.match(text(page, '.verdict'), /cut off at 0:23 of 0:50/);
  assert.match(text(page, '.answer'), /^Not finished: /);
  const rows = page.querySelectorAll('.phases tbody tr');
  assert.equal(rows.length, 3);
  const [, ramp, sustained] = rows.map((row) => [
    row.querySelector('th')?.childNodes.map((node) => node.textContent),
    texts(row, 'td'),
  ]);
  const [about, [requests]] = ramp as [string[], string[]];
  assert.deepEqual(about.slice(0, 2), ['ramp', '0:10 – 0:23']);
  assert.match(about[2] ?? '', /cut off after 0:13 of 0:20$/);
  assert.equal(requests, '569');
  const [missed, figures] = sustained as [string[], string[]];
  assert.deepEqual(missed, ['sustained', 'not reached', '1,500 requests/s']);
  assert.deepEqual([...new Set(figures)], ['–']);
});

test('the page shows commit, branch and CI job, linked only to a web page', () => {
  const run = golden('passing');
  const commit = '0123456789abcdef0123456789abcdef01234567';
  const ci = { name: 'GitLab CI', job: 'ramp', url: 'https://gitlab.example.com/o/r/-/jobs/7' };
  Object.assign(run.environment, { git: { commit, branch: 'topic', dirty: true }, ci });
  const linked = runPage(run);
  assert.match(
    texts(linked, '.facts').join(),
    new RegExp(`commit${commit}, with uncommitted changesbranchtopic`),
  );
  const links = linked.querySelectorAll('#summary a').filter((a) => a.textContent === 'GitLab CI: ramp');
  assert.deepEqual(
    links.map((a) => a.getAttribute('href')),
    [ci.url],
  );
  Object.assign(run.environment, {
    git: { commit, branch: null, dirty: false },
    ci: { ...ci, url: 'javascript:document.title=1' },
  });
  const unlinked = runPage(run);
  assert.match(texts(unlinked, '.facts').join(), new RegExp(`commit${commit}CI jobGitLab CI: ramp`));
  assert.ok(!texts(unlinked, 'a').some((one) => one.includes('GitLab CI')));
});

test('each phase shows its planned load', () => {
  const run = golden('passing');
  const [first] = run.run.profile.phases;
  assert.ok(first);
  first.arrival_rate = 0;
  assert.deepEqual(texts(runPage(run), '.phases small:last-child'), [
    ...['pause, not measured', '100 → 1,500 requests/s', '1,500 requests/s'],
  ]);
  const closed = golden('closed');
  const [warmUp] = closed.steps;
  assert.ok(warmUp);
  warmUp.vus = 0;
  assert.equal(text(runPage(closed), '.phases small:last-child'), 'pause, not measured');
});

test('a phase that ends by its requests is not planned for the hour that it may take', () => {
  const run = golden('closed');
  for (const phase of run.run.profile.phases) Object.assign(phase, { duration_s: 3600, requests: 50_000 });
  assert.match(text(runPage(run), '.profile td'), /^50,000 requests, at most 1 h$/);
});

test('sampled latencies are shown beside the full ones if the run has any', () => {
  assert.equal(texts(runPage('closed'), '.sampled').length, 0);
  const run = sampledRun();
  const page = runPage(run);
  assert.match(
    text(page, '.sampled p'),
    /^Sampled p99 30\.0 ms from 90 samples, full 60\.0 ms, difference −30\.0 ms \(−50 %\)\.$/,
  );
  assert.equal(texts(page, '.sampled tbody tr').length, run.steps.length);
  assert.match(text(page, '.sampled .small'), /^2 deliveries of sampled messages are left out/);
});

test('the page says if stages are missing and if the run has just started', () => {
  assert.match(
    text(runPage('without-stages'), 'main'),
    /The messages carried no stamps of the stages, so .* as a whole only/,
  );
  assert.match(text(runPage('started'), '.answer'), /^Not finished: 0 of 0 messages/);
});
