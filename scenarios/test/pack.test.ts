import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync } from 'mqtt';
import { Clock } from '../../pipeline/clock.ts';
import { ADDRESSES } from '../../pipeline/run.ts';
import { eventually, remove } from '../../pipeline/test/services.ts';
import { shownRun } from '../../reports/render.ts';
import { type Run, STAGES } from '../../reports/run.ts';
import { judge } from '../capacity/judge.ts';
import { assertPass, k6, node, Pipeline, place, ROOT, readRun, reasonsOf } from './harness.ts';

/** Everything that was sent has arrived, once. */
function assertAllArrived({ account }: Run): void {
  assert.ok(account.scheduled > 0);
  assert.equal(account.arrived, account.scheduled);
  assert.equal(account.deliveries.missing, 0);
  assert.equal(account.duplicates, 0);
  assert.ok(account.balanced);
}

describe('a short form of each script', () => {
  let pipeline: Pipeline;
  before(async () => {
    pipeline = await Pipeline.start({ TRACE_LOG_EVERY: '10', BROKERS: '2' });
  });
  after(() => pipeline.stop());

  // They mostly wait.
  describe('beside each other', { concurrency: 3 }, () => {
    test('smoke', async () => {
      const { run, exitCode } = await pipeline.run('smoke.js', { DURATION: 1, RATE: 50 });
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.equal(run.account.requests.sent, 50);
    });

    test('sweep: a row for each concurrency, each on a pipeline that has drained', async () => {
      const { run, exitCode, text } = await pipeline.run('sweep.js', {
        CONCURRENCY: '1,3',
        STEP_DURATION: 1,
      });
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.deepEqual(
        run.steps.map(({ vus }) => vus),
        [1, 3],
      );
      const [one, three] = run.steps as [Run['steps'][0], Run['steps'][0]];
      assert.ok(one.start_s + one.duration_s + (one.drained_s ?? Number.NaN) <= three.start_s + 0.001);
      for (const step of run.steps) {
        assert.equal(step.arrived, step.requests);
        assert.equal(typeof step.backlog, 'number');
      }
      assert.match(text, /step {5}req\/s HTTP mean/);
    });

    test('fixed: so many requests over so many connections, with one for each request', async (t) => {
      const settings = { CONCURRENCY: 5, REQUESTS: 300, KEEPALIVE: 'false' };
      const { seen, env } = await pipeline.gateway(t);
      const { run, exitCode } = await pipeline.run('fixed.js', settings, { ...env, CANARY: 'off' });
      assertPass(run, exitCode);
      assert.deepEqual(run.run.labels, { test: '17', keepalive: 'false' });
      assertAllArrived(run);
      assert.equal(run.account.requests.sent, 300);
      assert.equal(seen.connections, 300);
      assert.deepEqual(
        run.figures?.map(({ name }) => name),
        ['requests', 'time taken'],
      );
      assert.equal(run.figures?.[1]?.value, run.steps[0]?.duration_s);
    });

    test('spike: when it had drained, and when p99 was back', async () => {
      const settings = { BEFORE: 1, SPIKE_DURATION: 1, SPIKE_RATE: 500, AFTER: 2, RATE: 50, BACK: 100 };
      const { run, exitCode } = await pipeline.run('spike.js', settings);
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.equal(run.account.requests.sent, 50 + 500 + 100);
      const [drain, back] = run.figures ?? [];
      assert.deepEqual([drain?.name, back?.name], ['time to drain', 'time until p99 is back']);
      assert.ok(run.thresholds.some(({ metric }) => metric === 'spike_drain_s'));
    });

    test('soak: a line for each part, and how memory and latency have moved', async () => {
      const { run, text } = await pipeline.run('soak.js', {
        HOURS: 4 / 3600,
        LINE_MINUTES: 1 / 30,
        RATE: 50,
        GROWTH_LIMIT: 10_000,
      });
      assertAllArrived(run);
      assert.equal(run.steps.length, 2);
      for (const line of [1, 2])
        assert.match(
          text,
          new RegExp(`^${line}: 190 scheduled, \\d+ deliveries, p50 [\\d.]+ ms.* backlog \\d+$`, 'm'),
        );
      assert.ok(
        run.figures?.some(({ name }) => name === 'p99 has grown by'),
        text,
      );
      const memory = run.figures?.filter(({ name }) => name.startsWith('memory of ')) ?? [];
      assert.ok(memory.length > 1, text);
      // A process that a busy machine kept from saying anything for a second of these few is not known.
      const known = memory.every(({ value }) => value !== null);
      const judged = run.thresholds.find(({ metric }) => metric === 'soak_memory_growth_mb');
      assert.equal(judged?.ok, known, text);
    });

    test('own: messages, path and topics of a pipeline that is not ours, which tells no stamps', async () => {
      const { ingest, mqtt } = pipeline.stack.file;
      const url = new URL(mqtt.url);
      [url.username, url.password] = [mqtt.username, mqtt.password];
      const { run, exitCode, text } = await pipeline.run(
        'own.js',
        {
          RATE: 50,
          DURATION: 1,
          WARMUP: 0.5,
          TARGET: 'device',
          TARGETS: 3,
          FILTER: 'messages/device/+',
          P99: 60_000,
        },
        {
          INGEST_URL: ingest.url,
          MQTT_URL: url.toString(),
          HEADERS: JSON.stringify({ authorization: `Bearer ${ingest.token}` }),
          BODY: '{"source":"me","id":"{{id}}","target":"{{target}}","payload":"{{payload}}"}',
        },
      );
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.equal(run.latency.stages.queue.count, 0);
      assert.match(text, /request … .* request to delivery as one: the pipeline told no stamps/);
      assert.doesNotMatch(JSON.stringify(run), new RegExp(ingest.token));
    });

    test('own: path, key of the id, topics and hops of a pipeline that is not ours', async (t) => {
      const { mqtt, redis, stages } = pipeline.stack.file;
      const client = new Redis(redis.url, { disableClientInfo: true });
      t.after(() => client.disconnect());
      const clock = new Clock(async () => {
        const [seconds = 0, micros = 0] = (await client.time()).map(Number);
        return seconds * 1e6 + micros;
      });
      await clock.start();
      t.after(() => clock.stop());
      const publisher = await connectAsync(stages.mqttUrl, { protocolVersion: 5 });
      t.after(() => publisher.endAsync(true));
      const paths = new Set<string | undefined>();
      const theirs = createServer(async (request, response) => {
        const received = clock.now();
        paths.add(request.url);
        const body = String(await request.reduce((all, chunk) => all + chunk, ''));
        const { meta, target } = JSON.parse(body);
        response.writeHead(typeof meta.id === 'string' ? 202 : 400).end();
        const hops = `${received},0,0,${clock.now() - received}`;
        publisher.publish(`messages/theirs/${target}`, body, {
          qos: 1,
          properties: { userProperties: { hops } },
        });
      }).listen(0, '127.0.0.1');
      t.after(() => theirs.close());
      await once(theirs, 'listening');
      const url = new URL(mqtt.url);
      [url.username, url.password] = [mqtt.username, mqtt.password];
      const { run, exitCode, text } = await pipeline.run(
        'own.js',
        {
          RATE: 50,
          DURATION: 1,
          WARMUP: 0.5,
          P99: 60_000,
          INGEST_PATH: '/v1/events',
          ID_KEY: 'meta.id',
          TOPIC_PREFIX: 'messages/theirs/',
        },
        {
          INGEST_URL: `http://127.0.0.1:${(theirs.address() as AddressInfo).port}`,
          MQTT_URL: url.toString(),
          REDIS_URL: redis.url,
        },
      );
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.deepEqual([...paths], ['/v1/events']);
      const { queue, relay, delivery } = run.latency.stages;
      assert.deepEqual([queue.count, queue.max], [50, 0], text);
      assert.ok((relay.max ?? 0) > 0 && delivery.count === 50, text);
    });

    test('fuzz: bodies by a specification, and a row of average, max and min for each concurrency', async (t) => {
      const { url, ...user } = pipeline.stack.file.mqtt;
      const client = await connectAsync(url, { username: user.username, password: user.password });
      t.after(() => client.endAsync(true));
      const seen: { id: string; payload: { plan: string; age: number } }[] = [];
      client.on('message', (_, body) => seen.push(JSON.parse(String(body))));
      await client.subscribeAsync('messages/user/#');
      const file = join((await place(t)).dir, 'spec.json');
      await writeFile(file, '{"plan": ["free", "paid"], "age": {"type": "int", "range": [18, 99]}}');
      const settings = { CONCURRENCY: '2,20', REQUESTS: 200, SEED: 3, SPEC_FILE: file };
      const { run, exitCode } = await pipeline.run('fuzz.js', settings);
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.equal(run.account.requests.sent, 400);
      assert.equal(run.figures?.length, 6);
      assert.deepEqual(
        run.figures?.map(({ value }) => value)[1],
        run.steps[0]?.latency.http.max,
        '2 concurrent, max',
      );
      const ours = () => seen.filter(({ id }) => id.startsWith(`${run.run.id}.`));
      await eventually(() => ours().length >= 400, 'every body');
      for (const { plan, age } of ours().map(({ payload }) => payload))
        assert.ok(/^(free|paid)$/.test(plan) && Number.isInteger(age) && age >= 18 && age <= 99);
    });

    test('sessions: so many connections a second with so many calls on each', async (t) => {
      const { seen, env } = await pipeline.gateway(t);
      const settings = { SESSIONS: 10, CALLS: 4, DURATION: 1, TIMEOUT: 1 };
      const { run, exitCode, text } = await pipeline.run('sessions.js', settings, { ...env, CANARY: 'off' });
      // A machine that stands still begins fewer sessions, which is told.
      if (!/dropped_iterations/.test(run.verdict.reasons.join())) assertPass(run, exitCode);
      assertAllArrived(run);
      const sessions = seen.requests.length / 4;
      assert.ok(Number.isInteger(sessions) && sessions > 0 && sessions <= 11, text);
      assert.equal(seen.connections, sessions, 'a session is a connection');
      const [step, finish] = run.steps as [Run['steps'][0], Run['steps'][0]];
      assert.deepEqual([step.duration_s, finish.measured], [1, false], 'the time in which sessions begin');
      assert.deepEqual(run.figures, [
        { name: 'connection rate', value: sessions, unit: '/s' },
        { name: 'request rate', value: step.requests, unit: '/s' },
      ]);
    });

    test('phases: sessions that log in, think, and go on with what they were told', async (t) => {
      const asked: string[] = [];
      const login = createServer((request, response) => {
        request.on('data', (chunk) => asked.push(String(chunk)));
        request.on('end', () => response.end(JSON.stringify({ token: 'the one of the login' })));
      }).listen(0, '127.0.0.1');
      t.after(() => login.close());
      await once(login, 'listening');
      let hung = 0;
      const { seen, env } = await pipeline.gateway(t, (body) =>
        body.includes('"post/') && hung++ === 0 ? 'hang' : 'pass',
      );
      const { run, text } = await pipeline.run(
        'phases.js',
        {
          WARMUP_RATE: 10,
          WARMUP_DURATION: 1,
          RATE: 20,
          RAMP_DURATION: 1,
          SUSTAINED_DURATION: 1,
          THINK: 0.05,
          TIMEOUT: 1.5,
          P95: 60_000,
          LOGIN_URL: `http://127.0.0.1:${(login.address() as AddressInfo).port}/login`,
        },
        env,
      );
      assertAllArrived(run);
      assert.deepEqual(asked, ['{"user":"k6","password":""}']);
      assert.deepEqual(
        reasonsOf(run),
        ['threshold crossed: timeouts count==0'],
        'of the one that was not answered',
      );
      assert.deepEqual(run.figures, [{ name: 'time-outs', value: 1, unit: 'requests' }]);
      assert.deepEqual(
        run.steps.map(({ name, duration_s, measured }) => [name, duration_s, measured]),
        [
          ['warm-up', 1, false],
          ['ramp', 1, true],
          ['sustained', 1, true],
          ['finish', 1.75, false],
        ],
      );

      const sent = seen.requests.flatMap(({ body, ...rest }) => {
        const { target, payload } = JSON.parse(body);
        return target.startsWith('canary') ? [] : { kind: target.split('/')[0], payload, ...rest };
      });
      assert.deepEqual(
        new Set(sent.map(({ authorization }) => authorization)),
        new Set(['Bearer the one of the login']),
      );
      const of = (kind: string, goesOn: boolean) =>
        sent.filter((one) => one.kind === kind && 'found' in one.payload === goesOn);
      const begun = [of('listing', false), of('item', false), of('post', false)];
      const sessions = begun.flat().length;
      const kinds = 'bbvbbpbvbb'.repeat(sessions).slice(0, sessions); // 7 : 2 : 1
      assert.deepEqual(
        begun.map(({ length }) => length),
        ['b', 'v', 'p'].map((kind) => kinds.split(kind).length - 1),
        text,
      );
      // Each goes on with what it found, a browser to an item, a viewer to the room.
      for (const [first, next] of [
        [begun[0], of('item', true)],
        [begun[1], of('room', true)],
      ] as const)
        assert.deepEqual(
          next.map(({ payload }) => payload.found).sort((a, b) => a - b),
          first?.map(({ accepted }) => accepted),
        );
      const csv = await readFile(join(ROOT, 'scenarios/data/posts.csv'), 'utf8');
      for (const { payload } of sent) {
        const { user, room, text } = payload;
        const row = `${user},${room},${text.includes(',') ? `"${text}"` : text}`;
        assert.ok(csv.split('\n').includes(row), row);
      }
    });

    test('ingest: relays would take the messages, which is told', async () => {
      const { env } = pipeline;
      const { all, exitCode } = await k6(['run', '-q', '--log-format', 'raw', 'scenarios/ingest.js'], env);
      assert.match(
        String(all),
        /the pipeline has 1 relays, who would take the messages: start it with RELAY_WORKERS=0/,
      );
      assert.notEqual(exitCode, 0);
    });

    test('broker: the broker alone', async () => {
      const { run, exitCode } = await pipeline.run('broker.js', { RATE: 100, DURATION: 1 });
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.equal(run.latency.stages.queue.max, 0);
      assert.ok((run.latency.stages.delivery.mean ?? 0) > 0);
    });

    test('connections over two brokers: so many held at once, what each costs, and the canary', async () => {
      const settings = { CONNECTIONS: 60, RATE: 100, EVERY: 0.5, DURATION: 1.5, P99: 60_000 };
      const { run, exitCode } = await pipeline.run('connections.js', settings);
      assertPass(run, exitCode);
      assertAllArrived(run);
      const figure = (name: string) => run.figures?.find((f) => f.name === name)?.value;
      assert.deepEqual(
        ['held', 'refused', 'lost'].map((what) => figure(`connections ${what}`)),
        [60, 0, 0],
      );
      for (const process of ['k6', 'mosquitto', 'mosquitto-2'])
        assert.ok(figure(`CPU of ${process} for each`) !== undefined, process);
      assert.equal(run.steps.length, 2);
      assert.ok(run.thresholds.some(({ metric, ok }) => metric === 'connections_canary_p99_ms' && ok));
      assert.ok((run.canary?.sent ?? 0) >= 2);
    });

    test('connections: a canary that does not arrive fails the run, however fast the others were', async (t) => {
      const { env } = await pipeline.gateway(t, (_, n) => (n === 0 ? 'pass' : 'swallow'));
      const settings = { CONNECTIONS: 10, RATE: 100, EVERY: 0.5, DURATION: 1.6, P99: 60_000 };
      const { run } = await pipeline.run('connections.js', settings, env);
      assert.deepEqual([run.canary?.sent, run.canary?.arrived], [2, 1]);
      assert.deepEqual(reasonsOf(run), ['threshold crossed: connections_canary_missing value==0']);
    });
  });

  // Trace lists and the depth of the queue are of all runs, and the capacity is that of a pipeline with nothing else to do.
  describe('alone', () => {
    test('sweep with samples: what trace lists tell stands beside what all messages tell', async () => {
      const { run, exitCode, text } = await pipeline.run('sweep.js', {
        CONCURRENCY: '2,4',
        STEP_DURATION: 1,
        SAMPLED: 'true',
      });
      assertPass(run, exitCode);
      assertAllArrived(run);
      const { sampled, latency } = run;
      assert.ok(sampled, text);
      assert.deepEqual([sampled.one_in, sampled.not_found], [10, 0]);
      assert.equal(sampled.count, Math.ceil(run.account.scheduled / 10));
      const known = (value: number | null | undefined) => value ?? Number.NaN;
      const sum = (values: (number | null | undefined)[]) =>
        values.reduce<number>((all, one) => all + known(one), 0);
      assert.equal(sum(run.steps.map((step) => step.sampled?.count)), sampled.count);
      assert.equal(sampled.difference.p99, known(sampled.p99) - known(latency.arrival.p99));
      assert.ok(Math.abs(sum(Object.values(sampled.parts)) - known(sampled.mean)) < 1e-6);
      assert.match(
        text,
        /sampled +p99 [\d.]+ ms from \d+ samples \(one message in 10\), full [\d.]+ ms, difference/,
      );
    });

    test('own: a trace log of a pipeline that is not ours splits the way in three', async () => {
      const { ingest, mqtt, redis } = pipeline.stack.file;
      const url = new URL(mqtt.url);
      [url.username, url.password] = [mqtt.username, mqtt.password];
      const { run, exitCode, text } = await pipeline.run(
        'own.js',
        { RATE: 50, DURATION: 1, WARMUP: 0.5, P99: 60_000, SAMPLED: 'true', TRACE_LOG_EVERY: 10 },
        {
          INGEST_URL: ingest.url,
          INGEST_TOKEN: ingest.token,
          MQTT_URL: url.toString(),
          REDIS_URL: redis.url,
        },
      );
      assertAllArrived(run);
      assertPass(run, exitCode);
      assert.ok((run.sampled?.count ?? 0) >= 4, text);
      assert.equal(run.sampled?.not_found, 0);
      assert.ok(run.sampled.parts.relay !== null);
    });

    test('queue: Redis, relay and broker without the ingest', async (t) => {
      const redis = new Redis(pipeline.stack.file.redis.url, { disableClientInfo: true });
      t.after(() => redis.disconnect());
      const counted = async () =>
        Number((await redis.info('commandstats')).match(/^cmdstat_incrby:calls=(\d+)/m)?.[1] ?? 0);
      const before = await counted();
      const { run, exitCode } = await pipeline.run('queue.js', { RATE: 100, DURATION: 1 });
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.equal(run.latency.stages.ingest.max, 0);
      assert.ok((run.latency.stages.queue.mean ?? 0) > 0);
      assert.ok((await counted()) - before >= 100, 'what was written was counted, as by the ingest');
    });

    test('throughput: ping and pong, one client more in each step, and the rate of each', async () => {
      const { run, exitCode, text } = await pipeline.run('throughput.js', { CLIENTS: 3, STEP: 0.5 });
      assertPass(run, exitCode);
      assertAllArrived(run);
      assert.deepEqual(
        run.figures?.map(({ name }) => name),
        ['1 clients, each', '2 clients, each', '3 clients, each'],
      );
      assert.ok((run.figures?.[0]?.value ?? 0) > 0, text);
    });

    test('the search for the capacity tries, confirms, reports and ends', async () => {
      const settings = ['P99=60000', 'LOWEST=50', 'HIGHEST=50', 'PROBE=1', 'CONFIRM=1', 'WARMUP=0.1'];
      const args = settings.flatMap((setting) => ['-e', setting]);
      const { exitCode, stdout, all } = await node(['scenarios/capacity/main.ts', ...args], pipeline.env);
      const tried = [...stdout.matchAll(/^ +50\/s {2}1 s .* (held|not held: .*)$/gm)].map(([, what]) => what);
      assert.ok(tried.length >= 2, all);
      // A machine that is held up may keep a run, or each, from holding the rate: the answer then says so.
      const held = tried.at(-1) === 'held';
      assert.equal(exitCode, held ? 0 : 99, all);
      assert.match(
        stdout,
        held
          ? /^capacity {2}50 requests\/s with p99 below 60000 ms: held in \d of \d runs, the last of 1 s\n +no higher rate was tried: HIGHEST ends/m
          : /^capacity {2}none was confirmed: p99 below 60000 ms held at no rate that was tried for 1 s$/m,
      );
      const page = stdout.match(/^report {2}(\S+)$/m)?.[1];
      assert.equal(page !== undefined, tried.includes('held'), all);
      if (page === undefined) return;
      const dir = dirname(join(ROOT, page));
      try {
        const { rate, probes } = JSON.parse(await readFile(join(dir, 'capacity.json'), 'utf8'));
        assert.equal(rate, held ? 50 : null);
        assert.deepEqual(
          probes.map((probe: { rate: number; holds: boolean }) => [probe.rate, probe.holds]),
          tried.map((what) => [50, what === 'held']),
        );
        const run = await readRun(dir);
        assert.equal(run.run.method, 'capacity');
        const told = held
          ? [
              { name: 'highest rate that held', value: 50, unit: '/s' },
              {
                name: 'runs at 50/s that held',
                value: tried.filter((what) => what === 'held').length,
                unit: `of ${tried.length}`,
              },
            ]
          : [
              { name: 'highest rate that held', value: null, unit: '/s' },
              { name: 'lowest rate that did not', value: 50, unit: '/s' },
            ];
        assert.deepEqual(run.figures?.slice(1, 3), told);
        assert.deepEqual(shownRun(await readFile(join(dir, 'index.html'), 'utf8')).figures, run.figures);
        assert.match(await readFile(join(dir, 'summary.md'), 'utf8'), /^capacity {2}/m);
      } finally {
        await remove(dir);
      }
    });

    test('capacity: one rate, held or not', async () => {
      const { run } = await pipeline.run('capacity.js', {
        RATE: 50,
        DURATION: 1,
        WARMUP: 0.5,
        P99: 60_000,
      });
      assertAllArrived(run);
      assert.deepEqual(judge(run), { holds: true, reasons: [] });
    });
  });
});

describe('with a pipeline of its own', { concurrency: true }, () => {
  test('queue: a list', async (t) => {
    const pipeline = await Pipeline.start({ QUEUE: 'list' });
    t.after(() => pipeline.stop());
    const { run, exitCode } = await pipeline.run('queue.js', { RATE: 100, DURATION: 0.5 });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(run.account.scheduled, 50);
  });

  test('with TLS, the modules that k6 has of its own trust the pipeline too', async (t) => {
    const { runDir, env } = await place(t);
    const settings = ['-e', `RUN_DIR=${runDir}`, '-e', 'RATE=20', '-e', 'DURATION=0.5'];
    const { all } = await node(['pipeline/run.ts', 'scenarios/broker.js', ...settings], {
      ...env,
      TLS: 'true',
    });
    const run = await readRun(runDir).catch((error) => assert.fail(`${error}\n${all}`));
    assertAllArrived(run);
  });

  for (const QUEUE of ['stream', 'list']) {
    test(`ingest: HTTP to Redis and no relay, a ${QUEUE} that the run empties itself`, async (t) => {
      const pipeline = await Pipeline.start({ RELAY_WORKERS: '0', QUEUE });
      t.after(() => pipeline.stop());
      const { run, exitCode, text } = await pipeline.run('ingest.js', { RATE: 100, DURATION: 1 });
      assertPass(run, exitCode);
      assertAllArrived(run);
      const counts = STAGES.map((stage) => run.latency.stages[stage].count);
      assert.deepEqual(counts, [100, 100, 100, 100, 0, 0], 'relay and delivery are not there');
      assert.match(text, /^ +delivery +n\/a +the message had arrived when it was in the queue$/m);
      // What was read is gone: the next run finds nothing, and the ingest no backlog.
      const redis = new Redis(pipeline.stack.file.redis.url, { disableClientInfo: true });
      t.after(() => redis.disconnect());
      assert.equal(await redis.xlen('arrival:messages'), 0);
      assert.deepEqual(await redis.lrange('arrival:list', 0, 0), []);
    });
  }
});

describe('a setting that makes no sense is told in one line', () => {
  const wrong: [script: string, setting: string, message: RegExp][] = [
    ['smoke.js', 'DURATION=soon', /^DURATION is "soon"; allowed: 0 to 1000000000$/],
    [
      'sweep.js',
      'CONCURRENCY=20..1',
      /^CONCURRENCY is "20\.\.1": 20 is above 1; allowed: 1\.\.20, .* from 1 to 10000$/,
    ],
    ['sweep.js', 'CONCURRENCY=0,1', /^CONCURRENCY is "0,1": out of range; allowed: /],
    ['sweep.js', 'CONCURRENCY=1..9/0', /^CONCURRENCY is "1\.\.9\/0": a step of 0 never ends; allowed: /],
    ['sweep.js', 'CONCURRENCY=5,5', /^CONCURRENCY is "5,5": not ascending; allowed: /],
    ['fixed.js', 'KEEPALIVE=off', /^KEEPALIVE is "off"; allowed: true, false$/],
    ['fixed.js', 'REQUESTS=1.5', /^REQUESTS is "1\.5"; allowed: whole numbers from 1 to 1000000000$/],
    [
      'smoke.js',
      'LABELS=build',
      /^LABELS is "build": "build" is no name=value; allowed: name=value,name=value, each/,
    ],
    [
      'own.js',
      'BODY={"id":1}',
      /^body has no {{id}}: a message that cannot be told from others cannot be followed/,
    ],
    ['own.js', 'HEADERS=x', /^HEADERS is not JSON; allowed: {"X-Api-Key":"…"}$/],
    [
      'fuzz.js',
      'SPEC=[a,strng]',
      /^spec, character 4: type "strng" is not known; allowed: string, int, float, boolean$/,
    ],
    [
      'connections.js',
      'CONNECTIONS=60001',
      /^CONNECTIONS is "60001"; allowed: whole numbers from 1 to 60000$/,
    ],
    ['soak.js', 'LINE_MINUTES=0.01', /^LINE_MINUTES makes 12000 lines; allowed: up to 1000$/],
    ['sweep.js', 'STEP_DURATION=0', /^STEP_DURATION is "0"; allowed: 0\.1 to 86400$/],
  ];
  test('each of them', async (t) => {
    const { env } = await place(t);
    await Promise.all(
      wrong.map(async ([script, setting, message]) => {
        const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', '-e', setting];
        const { stderr, exitCode } = await k6([...args, `scenarios/${script}`], { ...env, ...ADDRESSES });
        const first = stderr
          .split('\n')[0]
          ?.replace(/^((Go)?Error: )+/, '')
          .replace(/\s+at github.*/, '');
        assert.match(String(first), message, `${script} ${setting}`);
        assert.notEqual(exitCode, 0);
      }),
    );
  });

  test('samples of a pipeline that leaves none', async (t) => {
    const { dir, env } = await place(t);
    await writeFile(join(dir, 'stack.json'), '{"facts": {"trace_log_every": 0}}');
    const { stderr } = await k6(['inspect', '-e', 'SAMPLED=true', 'scenarios/sweep.js'], {
      ...env,
      K6_INCLUDE_SYSTEM_ENV_VARS: 'true',
    });
    assert.match(stderr, /SAMPLED is true, and the pipeline that is up leaves no trace lists: start it with/);
  });

  test('more connections than a broker may have files open', async (t) => {
    const { dir, env } = await place(t);
    await writeFile(join(dir, 'stack.json'), '{"facts": {"mqtt_open_files": 1024}}');
    const args = [
      'inspect',
      '--include-system-env-vars',
      '-e',
      'CONNECTIONS=925',
      'scenarios/connections.js',
    ];
    const { stderr } = await k6(args, env);
    assert.match(
      stderr,
      /925 connections need 1025 open files in mosquitto, and it may have 1024: ulimit -n 1025/,
    );
  });

  test('a queue that is divided', async (t) => {
    const { dir, env } = await place(t);
    await writeFile(
      join(dir, 'stack.json'),
      '{"ingest": {"url": "http://127.0.0.1:1"}, "division": {"shards": 4}}',
    );
    for (const script of ['queue', 'ingest']) {
      const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', `scenarios/${script}.js`];
      const { stderr, exitCode } = await k6(args, env);
      assert.match(
        stderr,
        /the queue has 4 shards, and this script knows one that is not divided: leave out STREAM_SHARDS/,
      );
      assert.notEqual(exitCode, 0);
    }
  });

  test('a pipeline that speaks TLS: who knows its authority, and who is to be told', async (t) => {
    const { dir, env } = await place(t);
    const stack = { ca: 'THE PEM', ingest: { url: 'https://127.0.0.1:1' } };
    await writeFile(join(dir, 'stack.json'), JSON.stringify(stack));
    for (const script of ['queue', 'broker', 'phases', 'sessions', 'throughput']) {
      const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', `scenarios/${script}.js`];
      const { stderr } = await k6(args, env);
      assert.match(
        stderr,
        /the pipeline speaks TLS, and k6\/\S+ does not know .*: set SSL_CERT_FILE=\S+\/tls\/ca\.pem/,
      );
    }
  });

  test('a stack.json that is broken is not taken for a pipeline that is down', async (t) => {
    const { dir, env } = await place(t);
    await writeFile(join(dir, 'stack.json'), '{"ingest": {');
    const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', 'scenarios/ramp.js'];
    const { stderr, exitCode } = await k6(args, env);
    assert.match(
      String(stderr.split('\n')[0]),
      /stack\.json is not JSON: .+; it is what the pipeline writes when it starts/,
    );
    assert.notEqual(exitCode, 0);
  });
});
