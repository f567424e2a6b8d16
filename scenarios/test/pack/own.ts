import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync } from 'mqtt';
import { Clock } from '../../../pipeline/shared/clock.ts';
import { freePort } from '../../../pipeline/stack/ports.ts';
import { type Latency, latencyOf } from '../../../reports/contract/run.ts';
import { assertAllArrived, assertPass, listen, type Pipeline } from '../harness.ts';

/** 50 messages after the warm-up, with a latency limit that holds on any machine. */
export const LOAD = { RATE: 50, DURATION: 1, WARMUP: 0.5, P99: 60_000 };

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
export async function takes(
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
export async function call(body: string): Promise<void> {
  const { ok } = await fetch(JSON.parse(body).to, { method: 'POST', body });
  if (!ok) await call(body);
}

/** A webhook on a free port, whose URL travels in the messages. */
export const hook = async () => ({
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
