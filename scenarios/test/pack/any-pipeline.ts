import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { remove, temporaryDirectory } from '../../../pipeline/test/services.ts';
import {
  assertAllArrived,
  assertPass,
  brokenOf,
  k6,
  node,
  type Pipeline,
  ROOT,
  readRun,
} from '../harness.ts';
import { call, hook, LOAD, takes } from './own.ts';

/** A short form of each script that asks a question, beside the latency limit. */
const SHORT: Record<string, Record<string, string | number>> = {
  smoke: { RATE: 20, DURATION: 1 },
  ramp: {
    RATE: 20,
    WARMUP_RATE: 10,
    WARMUP_DURATION: 0.5,
    RAMP_DURATION: 0.5,
    SUSTAINED_DURATION: 1,
    P99: 60_000,
  },
  sweep: { CONCURRENCY: '1,2', STEP_DURATION: 0.3 },
  capacity: { RATE: 20, WARMUP: 0.5, DURATION: 1, P99: 60_000 },
  spike: {
    RATE: 20,
    SPIKE_RATE: 40,
    BEFORE: 1,
    SPIKE_DURATION: 0.5,
    AFTER: 1,
    BACK_LIMIT: 1e5,
    DRAIN_LIMIT: 1e5,
  },
  soak: { HOURS: 4 / 3600, LINE_MINUTES: 1 / 30, RATE: 50, DRIFT_LIMIT: 60_000 },
  fixed: { CONCURRENCY: 2, REQUESTS: 20 },
  fuzz: { CONCURRENCY: '2', REQUESTS: 20 },
  sessions: { SESSIONS: 5, CALLS: 2, DURATION: 1, TIMEOUT: 4 },
  phases: {
    ...{ WARMUP_RATE: 5, RATE: 5, WARMUP_DURATION: 1, RAMP_DURATION: 1, SUSTAINED_DURATION: 1 },
    ...{ THINK: 0.01, TIMEOUT: 4, P95: 60_000 },
  },
};

const flags = (settings: Record<string, number>) =>
  Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]);

/** The directories of the reports that a command names. */
const reportsIn = (stdout: string) =>
  [...stdout.matchAll(/^ *(?:report|comparison) +(\S+)$/gm)].map(([, path = '']) =>
    dirname(join(ROOT, path)),
  );

/** Every script that asks a question, of a pipeline that knows neither our path, body, headers nor topics. */
export function anyPipeline(pipeline: Pipeline): void {
  for (const [script, settings] of Object.entries(SHORT))
    test(`${script}: a user's pipeline that ends in server-sent events`, async (t) => {
      const { INGEST_URL, streams, requests } = await takes(t, undefined, { path: '/v1/events', id: 'msg' });
      const { run, exitCode, text } = await pipeline.run(
        `${script}.js`,
        {
          ...settings,
          INGEST_PATH: '/v1/events',
          BODY: '{"msg":"{{id}}","target":"{{target}}"}',
          TARGET: 'shop',
        },
        {
          INGEST_URL,
          ARRIVE: 'sse',
          SSE_URL: `${INGEST_URL}/events`,
          HEADERS: '{"x-api-key":"k"}',
          DELIVERIES: '2',
        },
      );
      assertAllArrived(run);
      assert.ok(streams.size >= 2, 'a client for each delivery, and the greeting');
      assert.equal(run.account.deliveries.due, 2 * run.account.scheduled);
      assert.ok(requests.every(({ headers }) => headers['x-api-key'] === 'k'));
      // On a busy machine k6 begins fewer sessions, and too few messages arrive in a second for a drift.
      const busy = [
        'dropped_iterations',
        'soak_latency_drift_ms',
        'spike_drain_s',
        'spike_p99_back_s',
        'backlog_growth',
      ];
      assert.deepEqual(
        brokenOf(run).filter((name) => !busy.includes(name)),
        [],
        `${exitCode} ${text}`,
      );
    });

  test('own: devices of a CSV file, and times, numbers and random values in bodies', async (t) => {
    const { INGEST_URL, requests } = await takes(t);
    const dir = await temporaryDirectory();
    t.after(() => remove(dir));
    const TARGETS_FILE = join(dir, 'devices.csv');
    await writeFile(TARGETS_FILE, 'tenant;target\nNorth "1";d-17\nSouth;d-18\n');
    const BODY =
      '{"id":"{{id}}","target":"{{target}}","tenant":"{{row.tenant}}","at":{{now}},"n":{{n}},"temp":{{random.temp}}}';
    const settings = {
      ...LOAD,
      ARRIVE: 'sse',
      SSE_URL: `${INGEST_URL}/events`,
      VERIFY: 1,
      SPEC: '[temp,float]',
    };
    const { run, exitCode } = await pipeline.run(
      'own.js',
      { ...settings, TARGETS_FILE, BODY },
      { INGEST_URL },
    );
    assertPass(run, exitCode);
    assertAllArrived(run);
    const sent = requests.map(({ body }) => JSON.parse(body)).filter(({ target }) => target.startsWith('d-'));
    assert.ok(sent.length >= run.account.requests.sent);
    assert.deepEqual(new Set(sent.map(({ tenant, target }) => `${target} ${tenant}`)).size, 2);
    assert.ok(sent.some(({ tenant, target }) => tenant === 'North "1"' && target === 'd-17'));
    assert.ok(sent.every(({ at, temp }) => at > 1.7e12 && typeof temp === 'number'));
  });

  test('spike: a webhook that messages name', async (t) => {
    const { INGEST_URL } = await takes(t, call);
    const settings = { ...SHORT.spike, ...(await hook()), ARRIVE: 'webhook' };
    assertAllArrived((await pipeline.run('spike.js', settings, { INGEST_URL })).run);
  });

  for (const [what, args, says] of [
    [
      'the search for the capacity',
      [
        'scenarios/campaigns/capacity/main.ts',
        ...flags({ LOWEST: 20, HIGHEST: 20, PROBE: 1, CONFIRM: 1, P99: 60_000 }),
      ],
      /^capacity {2}/m,
    ],
    [
      'repeats',
      ['scenarios/run/run.ts', 'scenarios/smoke.js', '--repeat', '2', ...flags({ RATE: 20, DURATION: 0.5 })],
      /^comparison {2}/m,
    ],
  ] as const)
    test(`${what} of a user's pipeline that ends in server-sent events`, async (t) => {
      const { INGEST_URL, requests } = await takes(t, undefined, { path: '/v1/events' });
      const theirs = {
        INGEST_URL,
        INGEST_PATH: '/v1/events',
        ARRIVE: 'sse',
        SSE_URL: `${INGEST_URL}/events`,
      };
      const { stdout, all } = await node([...args], { ...pipeline.env, ...theirs });
      t.after(() => Promise.all(reportsIn(stdout).map(remove)));
      assert.match(stdout, says, all);
      assert.ok(requests.length > 10, all);
      for (const dir of reportsIn(stdout).filter((one) => !one.includes('comparisons')))
        assertAllArrived(await readRun(dir, all));
    });

  test('a pipeline file in place of settings: ramp, the search for the capacity and repeats', async (t) => {
    const { INGEST_URL, requests } = await takes(t, undefined, { path: '/v1/events', id: 'msg' });
    const dir = await temporaryDirectory();
    t.after(() => remove(dir));
    const file = join(dir, 'my.yml');
    await writeFile(
      file,
      `ingest: { url: $THEIRS, path: /v1/events, headers: { x-api-key: $THEIR_KEY } }
body: '{"msg":"{{id}}","target":"{{target}}"}'
target: shop
deliveries: 2
arrive: { sse: { url: $THEIRS/events } }
`,
    );
    const env = { ...pipeline.env, THEIRS: INGEST_URL, THEIR_KEY: 'k3y', P99: '60000' };
    const commands = [
      ['scenarios/run/run.ts', 'scenarios/ramp.js', ...flags(SHORT.ramp as Record<string, number>)],
      [
        'scenarios/campaigns/capacity/main.ts',
        ...flags({ LOWEST: 20, HIGHEST: 20, PROBE: 1, CONFIRM: 1, P99: 60_000 }),
      ],
      ['scenarios/run/run.ts', 'scenarios/smoke.js', '--repeat', '2', ...flags({ RATE: 20, DURATION: 0.5 })],
    ];
    for (const command of commands) {
      const { stdout, all } = await node([...command, '--pipeline', file], env);
      const dirs = reportsIn(stdout);
      t.after(() => Promise.all(dirs.map(remove)));
      assert.ok(dirs.length > 0, all);
      for (const one of dirs.filter((one) => !one.includes('comparisons'))) {
        const run = await readRun(one, all);
        assertAllArrived(run);
        assert.equal(run.account.deliveries.due, 2 * run.account.scheduled);
        assert.match(run.run.command ?? '', /--pipeline \S+my\.yml/);
        assert.doesNotMatch(JSON.stringify(run), /k3y/);
      }
    }
    assert.ok(requests.every(({ headers }) => headers['x-api-key'] === 'k3y'));
  });

  test('phases: rows of CSV are the payload of messages that are JSON', async (t) => {
    const { INGEST_URL, requests } = await takes(t);
    const settings = { ...SHORT.phases, ARRIVE: 'sse', SSE_URL: `${INGEST_URL}/events`, RETRIES: 0 };
    const BODY = '{"id":"{{id}}","target":"{{target}}","by":"me"}';
    const { run } = await pipeline.run(
      'phases.js',
      { ...settings, BODY },
      { INGEST_URL, KEEPALIVE: 'false' },
    );
    assertAllArrived(run);
    const sent = requests.map(({ body }) => JSON.parse(body)).filter(({ payload }) => payload);
    assert.equal(sent.length, run.account.requests.sent);
    assert.ok(sent.every(({ by, payload }) => by === 'me' && 'room' in payload));
  });
}

/** A script of the user's own, changed as the README of the modules says. */
export function ownScript(pipeline: Pipeline): void {
  test("a k6 script that exists: the README's diff", async (t) => {
    const readme = await readFile(join(ROOT, 'extensions/k6/README.md'), 'utf8');
    const [, diff = ''] = /^```diff\n(.*?)^```$/ms.exec(readme) ?? [];
    const lines = diff.split('\n').filter((line) => !line.startsWith('-'));
    const dir = await temporaryDirectory();
    t.after(() => remove(dir));
    const script = join(dir, 'script.js');
    await writeFile(script, lines.map((line) => line.slice(1)).join('\n'));
    const { exitCode, all } = await k6(['run', '-q', script], { ...pipeline.env, ...pipeline.own });
    const [, page = ''] = /^ *report +(\S+)$/m.exec(String(all)) ?? [];
    assert.ok(page, String(all));
    const run = await readRun(dirname(join(ROOT, page)), String(all));
    t.after(() => remove(dirname(join(ROOT, page))));
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.match(run.answer?.sentence ?? '', /^Scenario load \(ramping-vus\) carried /);
  });
}
