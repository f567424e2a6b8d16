import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync } from 'mqtt';
import { Clock } from '../../../pipeline/shared/clock.ts';
import { freePort } from '../../../pipeline/stack/ports.ts';
import { remove } from '../../../pipeline/test/services.ts';
import { type Latency, latencyOf } from '../../../reports/contract/run.ts';
import {
  assertAllArrived,
  assertPass,
  brokenOf,
  listen,
  node,
  type Pipeline,
  ROOT,
  readRun,
} from '../harness.ts';

/** 50 messages after the warm-up, with a latency limit that holds on any machine. */
const LOAD = { RATE: 50, DURATION: 1, WARMUP: 0.5, P99: 60_000 };

/** The script for the user's own pipeline. */
export function own(pipeline: Pipeline): void {
  test("own: messages and topics of a user's pipeline that sends no stamps", async () => {
    const { INGEST_URL, INGEST_TOKEN, MQTT_URL } = pipeline.own;
    const { run, exitCode, text } = await pipeline.run(
      'own.js',
      { ...LOAD, TARGETS: 'berlin,rome,oslo', FILTER: 'messages/+' },
      {
        INGEST_URL,
        MQTT_URL,
        HEADERS: JSON.stringify({ authorization: `Bearer ${INGEST_TOKEN}` }),
        BODY: '{"source":"me","id":"{{id}}","target":"{{target}}","payload":"{{payload}}"}',
      },
    );
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(latencyOf(run.latency, 'queue').count, 0);
    assert.match(text, /request … .* request to delivery as one: the pipeline sends no stamps/);
    assert.doesNotMatch(JSON.stringify(run), new RegExp(INGEST_TOKEN));
  });

  test("own: path, id key, topics and hops of a user's pipeline", async (t) => {
    const { MQTT_URL, REDIS_URL } = pipeline.own;
    const client = new Redis(REDIS_URL, { disableClientInfo: true });
    t.after(() => client.disconnect());
    const clock = new Clock(async () => {
      const [seconds = 0, micros = 0] = (await client.time()).map(Number);
      return seconds * 1e6 + micros;
    });
    await clock.start();
    t.after(() => clock.stop());
    const publisher = await connectAsync(pipeline.stack.file.stages.mqttUrl, { protocolVersion: 5 });
    t.after(() => publisher.endAsync(true));
    const paths = new Set<string | undefined>();
    const theirs = createServer(async (request, response) => {
      const received = clock.now();
      paths.add(request.url);
      const body = String(await request.reduce((all, chunk) => all + chunk, ''));
      const { meta, target, payload } = JSON.parse(body);
      const good = typeof meta.id === 'string' && Number.isInteger(payload.age) && payload.ok !== undefined;
      response.writeHead(good ? 202 : 400).end();
      if (!good) return;
      const hops = `${received},0,0,${clock.now() - received}`;
      publisher.publish(`messages/theirs/${target}`, body, {
        qos: 1,
        properties: { userProperties: { hops } },
      });
    });
    const INGEST_URL = `http://${await listen(t, theirs)}`;
    const { run, exitCode, text } = await pipeline.run(
      'own.js',
      {
        ...LOAD,
        INGEST_PATH: '/v1/events',
        ID_KEY: 'meta.id',
        TOPIC_PREFIX: 'messages/theirs/',
        SPEC: '[age,int,ok,boolean]',
      },
      { INGEST_URL, MQTT_URL, REDIS_URL },
    );
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.deepEqual([...paths], ['/v1/events']);
    const [queue, relay, delivery] = ['queue', 'relay', 'delivery'].map((stage) =>
      latencyOf(run.latency, stage),
    ) as [Latency, Latency, Latency];
    assert.deepEqual([queue.count, queue.max], [50, 0], text);
    assert.ok((relay.max ?? 0) > 0 && delivery.count === 50, text);
  });
}

/** Takes messages by POST at a path, and hands each to `deliver`; pushes at /events?topic=<target>, or all of them without one. */
async function takes(
  t: TestContext,
  deliver: (body: string) => unknown = () => {},
  wants: { path?: string; id?: string } = {},
) {
  const requests: { body: string; headers: IncomingHttpHeaders }[] = [];
  const streams = new Map<ServerResponse, string | null>();
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://theirs');
    if (pathname === '/events') {
      streams.set(response, searchParams.get('topic'));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return;
    }
    const body = String(await request.reduce((all, chunk) => all + chunk, ''));
    const { target, ...message } = JSON.parse(body);
    const good = (wants.path ?? pathname) === pathname && (wants.id ?? 'id') in message;
    response.writeHead(good ? 202 : 400).end();
    if (!good) return;
    requests.push({ body, headers: request.headers });
    await deliver(body);
    for (const [stream, topic] of streams)
      if (topic === null || topic === target) stream.write(`data: ${body}\n\n`);
  });
  return { INGEST_URL: `http://${await listen(t, server)}`, streams, requests };
}

/** Calls the webhook that a message names until it is taken. */
async function call(body: string): Promise<void> {
  const { ok } = await fetch(JSON.parse(body).to, { method: 'POST', body });
  if (!ok) await call(body);
}

/** A webhook on a free port, whose URL travels in the messages. */
const hook = async () => ({
  WEBHOOK_ADDRESS: `127.0.0.1:${await freePort()}`,
  WEBHOOK_PATH: '/hooks',
  BODY: '{"id":"{{id}}","target":"{{target}}","to":"{{webhook}}"}',
});

/** The scripts for pipelines of the user's own that end elsewhere than in MQTT. */
export function ownElsewhere(pipeline: Pipeline): void {
  test("own: a user's pipeline that ends in a webhook", async (t) => {
    const { INGEST_URL } = await takes(t, call);
    const settings = { ...LOAD, ...(await hook()), ARRIVE: 'webhook' };
    const { run, exitCode } = await pipeline.run('own.js', settings, { INGEST_URL });
    assertPass(run, exitCode);
    assertAllArrived(run);
  });

  test("own: a user's pipeline that ends in server-sent events", async (t) => {
    const { INGEST_URL } = await takes(t);
    const settings = { ...LOAD, ARRIVE: 'sse', SSE_URL: `${INGEST_URL}/events` };
    const { run, exitCode } = await pipeline.run('own.js', settings, { INGEST_URL });
    assertPass(run, exitCode);
    assertAllArrived(run);
  });

  test('webhook: calls that are refused come again, and some answers are late', async (t) => {
    const { INGEST_URL } = await takes(t, call);
    const receiver = { ...(await hook()), LATE: 0.2, LATE_SECONDS: 0.02, REFUSE: 0.1, REFUSE_STATUS: 429 };
    const { run, exitCode } = await pipeline.run('webhook.js', { ...LOAD, ...receiver }, { INGEST_URL });
    assertPass(run, exitCode);
    assertAllArrived(run);
    const refused = run.errors.find((one) => one.stage === 'webhook' && one.class === 'refused on purpose');
    assert.ok((refused?.count ?? 0) >= 5, JSON.stringify(run.errors));
  });

  test('push: each message reaches the receivers of its target', async (t) => {
    const { INGEST_URL, streams } = await takes(t);
    const clients = { ARRIVE: 'sse', SSE_URL: `${INGEST_URL}/events?topic={{target}}`, CLIENTS: 50 };
    const { run, exitCode } = await pipeline.run('push.js', { ...LOAD, ...clients }, { INGEST_URL });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(run.account.deliveries.due, 5 * run.account.scheduled);
    assert.equal(streams.size, 50 + 1, 'and the canary');
  });
}

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

/** Needs a pipeline without other load: all runs share the trace lists. */
export function ownSampled(pipeline: Pipeline): void {
  test("own: the trace log of a user's pipeline splits the latency in three", async () => {
    const settings = { ...LOAD, SAMPLED: 'true', TRACE_LOG_EVERY: 10 };
    const { run, exitCode, text } = await pipeline.run('own.js', settings, pipeline.own);
    assertAllArrived(run);
    assertPass(run, exitCode);
    assert.ok((run.sampled?.count ?? 0) >= 4, text);
    assert.equal(run.sampled?.not_found, 0);
    assert.ok(run.sampled.parts.relay !== null);
  });
}
