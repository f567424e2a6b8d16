/** Pipelines that are not ours, measured by the commands that their files have. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isInstalled, NCHAN } from '../../pipeline/setup/packages.mjs';
import { freePort } from '../../pipeline/stack/ports.ts';
import { openLink } from '../../pipeline/test/link.ts';
import { temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertAllArrived, brokenOf, readRun } from '../test/harness.ts';
import {
  answers,
  directory,
  HERE,
  instrumented,
  marksBySpans,
  NATS,
  type Protocol,
  PYTHON,
  passes,
  scenario,
  serve,
  startBullmq,
  startFlask,
  startGo,
  startRedis,
  tries,
} from './measured.ts';

// Why a test is skipped.
const noPython = existsSync(join(PYTHON, 'flask'))
  ? false
  : 'npm run setup -- --test installs its packages, if there is pip';
const noNats = existsSync(NATS) ? false : 'npm run setup -- --test builds nats-server';
const noBullmq = existsSync(join(HERE, 'bullmq/node_modules/.installed'))
  ? false
  : 'npm run setup -- --test installs its packages';
const noNchan = isInstalled(NCHAN) && isInstalled('nginx') ? false : `nginx has no ${NCHAN}`;

// They mostly wait.
describe('pipelines that are not ours', { concurrency: 2 }, () => {
  test('Flask, a Redis list and MQTT 3.1.1, with numeric ids in an envelope', {
    skip: noPython,
  }, async (t) => {
    const settings = await startFlask(t, [], {});
    await passes(t, 'own.js', { ...settings, ID_FROM: 'json:$.meta.id' });
    await answers(t, { ...settings, ID_FROM: 'json:$.meta.id' });
    const measure = (more: NodeJS.ProcessEnv) => scenario(t, 'own.js', { ...settings, ...more });
    const file = (from: string) => `
ingest: { url: '${settings.INGEST_URL}', path: ${settings.INGEST_PATH} }
body: '${settings.BODY}'
id: { format: number, from: '${from}' }
arrive: { mqtt: { url: '${settings.MQTT_URL}', topicPrefix: users/, version: 3.1.1 } }
`;
    assert.match(await tries(t, file('json:$.meta.id')), /^0 (?=.*\barrived\b).*json:\$\.meta\.id/s);
    assert.match(await tries(t, file('json:$.id')), /^99 .*first message.*ID_FROM.*meta/s);
    // What is wrong is said before the load, with the end at which the first message stopped.
    assert.match((await measure({ ID_FROM: 'json:$.id' })).all, /first message.*ID_FROM.*meta/);
    assert.match((await measure({ INGEST_PATH: '/elsewhere' })).all, /elsewhere refuses messages: HTTP 404/);
    assert.match((await measure({})).all, /other content.*VERIFY=off.*meta/);
  });

  test('Flask by opentelemetry-instrument: stages by its spans', { skip: noPython }, async (t) => {
    const SPANS = `127.0.0.1:${await freePort()}`;
    const instrument = [join(PYTHON, 'bin/opentelemetry-instrument'), 'python3'];
    const of = async (protocol: Protocol) => {
      const settings = await startFlask(t, instrument, instrumented(SPANS, protocol));
      return { ...settings, SPANS, ID_FROM: 'json:$.meta.id' };
    };
    const proposed = await marksBySpans(t, 'own.js', await of('http/protobuf'), ['received']);
    const SPANS_MARKS = await directory(t);
    await writeFile(SPANS_MARKS, proposed);
    await marksBySpans(t, 'own.js', { ...(await of('grpc')), SPANS_MARKS }, ['received', 'lpush']);
  });

  test('net/http and a Redis stream, whose consumer is the script', async (t) => {
    const REDIS_URL = await startRedis(t);
    const INGEST_URL = await startGo(t, 'go', { REDIS_URL });
    await passes(t, 'pipelines/go/stream.js', { INGEST_URL, REDIS_URL });
  });

  test('net/http and NATS, whose subscriber is the script', { skip: noNats }, async (t) => {
    const [dir, port, web] = [await temporaryDirectory(), await freePort(), await freePort()];
    const conf = await readFile(join(HERE, 'nats/nats.conf'), 'utf8');
    await writeFile(join(dir, 'conf'), conf.replace(':4222', `:${port}`).replace(':4280', `:${web}`));
    await serve(t, dir, { name: 'nats', command: NATS, args: ['-c', join(dir, 'conf')] }, /Server is ready/);
    const INGEST_URL = await startGo(t, 'nats', { NATS_URL: `nats://127.0.0.1:${port}` });
    await passes(t, 'pipelines/nats/orders.js', { INGEST_URL, NATS_URL: `ws://127.0.0.1:${web}` });
  });

  test('Fastify and BullMQ by auto-instrumentations-node: stages by their spans', {
    skip: noBullmq,
  }, async (t) => {
    const SPANS = `127.0.0.1:${await freePort()}`;
    const from = join(HERE, 'bullmq/node_modules/@opentelemetry');
    const hook = ['--experimental-loader', join(from, 'instrumentation/hook.mjs')];
    const register = ['--import', join(from, 'auto-instrumentations-node/dist/register.mjs')];
    const settings = await startBullmq(t, [...hook, ...register], instrumented(SPANS, 'grpc'));
    const proposed = await marksBySpans(t, 'webhook.js', { ...settings, SPANS, VERIFY: 'off' }, ['received']);
    assert.match(proposed, /"evalsha"/);
  });

  test('Fastify, BullMQ and a webhook that the message names', { skip: noBullmq }, async (t) => {
    const settings = await startBullmq(t, [], {});
    // BullMQ tries a refused call again.
    const { run } = await passes(t, 'webhook.js', { ...settings, VERIFY: 'off', REFUSE: '0.1' });
    assert.ok(run.errors.some((error) => error.class === 'refused on purpose' && error.count >= 6));
    await answers(t, { ...settings, ARRIVE: 'webhook', VERIFY: 'off' });
    const file = `
ingest: { url: '${settings.INGEST_URL}', path: /orders }
body: '${settings.BODY}'
arrive: { webhook: { address: '${settings.WEBHOOK_ADDRESS}' } }
`;
    assert.match(await tries(t, `${file}verify: off`), /^0 (?=.*\barrived\b).*\$\.order/s);
    assert.match(await tries(t, file), /^99 .*other content.*VERIFY=off/s);
    assert.match(
      (await scenario(t, 'webhook.js', settings)).all,
      /other content.*VERIFY=off.*"state":"done"/,
    );
  });

  test('nginx with nchan, to WebSocket and to server-sent events', { skip: noNchan }, async (t) => {
    const [dir, port] = [await temporaryDirectory(), await freePort()];
    const conf = await readFile(join(HERE, 'nchan/nginx.conf'), 'utf8');
    await writeFile(join(dir, 'conf'), conf.replace('127.0.0.1:8000;', `127.0.0.1:${port};`));
    // Started by root, nginx would write as a user that cannot enter this directory.
    const user = process.getuid?.() === 0 ? `user ${userInfo().username};` : '';
    const args = [
      '-p',
      dir,
      '-c',
      'conf',
      '-e',
      'stderr',
      '-g',
      `daemon off; error_log stderr notice; ${user}`,
    ];
    await serve(t, dir, { name: 'nginx', command: 'nginx', args }, /start worker processes/);
    const url = `127.0.0.1:${port}`;
    const posts = { INGEST_URL: `http://${url}`, INGEST_PATH: '/post/{{target}}' };
    for (const where of [
      { WEBSOCKET_URL: `ws://${url}/ws/{{target}}` },
      { ARRIVE: 'sse', SSE_URL: `http://${url}/events/{{target}}` },
    ]) {
      const {
        run: { account },
      } = await passes(t, 'push.js', { ...posts, CLIENTS: '100', ...where });
      assert.equal(account.deliveries.arrived, 5 * account.scheduled);
      await answers(t, { ...posts, ARRIVE: 'websocket', TARGETS: '5', ...where });
    }
    for (const arrive of [
      `websocket: { url: 'ws://${url}/ws/{{target}}' }`,
      `sse: { url: 'http://${url}/events/{{target}}' }`,
    ])
      assert.match(
        await tries(
          t,
          `{ ingest: { url: 'http://${url}', path: '/post/{{target}}' }, arrive: { ${arrive} } }`,
        ),
        /^0 (?=.*\barrived\b).*\$\.id/s,
      );
    // All clients are cut off under load. nchan sends them what is behind their Last-Event-ID.
    const link = await openLink(t, `http://${url}/events/`);
    let events = 0;
    link.rewrite = (bytes) => {
      const before = events;
      events += String(bytes).split('data:').length - 1;
      if (before < 150 && events >= 150) link.cut();
      return bytes;
    };
    const settings = { ...posts, CLIENTS: '5', ARRIVE: 'sse', SSE_URL: `${link.url}{{target}}` };
    const { RUN_DIR, all } = await scenario(t, 'push.js', settings);
    const run = await readRun(RUN_DIR, all);
    assertAllArrived(run);
    assert.equal(run.health.gaps.length, 5);
    assert.deepEqual(brokenOf(run), ['gaps']);
  });
});
