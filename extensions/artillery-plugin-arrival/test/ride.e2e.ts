/** The plugin rides along with scripts of real Artillery, which keep what they do without it. Installs Artillery if needed. */
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { execa } from 'execa';
import { connectAsync, type MqttClient } from 'mqtt';
import { stringify } from 'yaml';
import { openQueue } from '../../../pipeline/queue/open.ts';
import type { MessageQueue } from '../../../pipeline/queue/queue.ts';
import { freePort } from '../../../pipeline/stack/ports.ts';
import {
  eventually,
  remove,
  startBroker,
  startRedis,
  temporaryDirectory,
} from '../../../pipeline/test/services.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { installed } from '../../../scenarios/run/artillery-run.ts';
import { listen, readRun } from '../../../scenarios/test/harness.ts';
import { ALONG, KINDS, type Script } from './kinds.ts';
import { type Outlet, Shop } from './shop.ts';

const PLUGINS = join(import.meta.dirname, '../artillery/plugins');

type Counters = Record<string, number>;

describe('riding along', { concurrency: false }, () => {
  let [dir, bin] = ['', ''];
  let shop: Shop;
  let broker: Awaited<ReturnType<typeof startBroker>>;
  let client: MqttClient;
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let queue: MessageQueue;
  before(async () => {
    bin = await installed({ stdout: process.stdout });
    dir = await temporaryDirectory();
    broker = await startBroker();
    client = await connectAsync(broker.url('relay'));
    redis = await startRedis();
    queue = openQueue('stream', { url: redis.as('ingest'), timeoutMs: 10_000 });
    shop = await Shop.open();
  });
  after(async () => {
    shop?.close();
    await client?.endAsync();
    queue?.close();
    await redis?.service.remove();
    await broker?.service.remove();
    await remove(dir);
  });
  beforeEach(() => {
    shop.orders = [];
    shop.seen = {};
    shop.whole = true;
    shop.outlet = (order) => client.publish('messages/shop', order, { qos: 1 });
  });

  /** Runs a script of Artillery, with the plugin if it has options. */
  async function artillery(
    name: string,
    script: Script,
    arrival?: object,
    args: string[] = [],
    more: NodeJS.ProcessEnv = {},
    interrupted = false,
  ) {
    const { config, ...rest } = script;
    const file = join(dir, `${name}.yml`);
    const plugins = { ...(config.plugins as object), ...(arrival && { arrival }) };
    await writeFile(
      file,
      stringify({ config: { target: `http://${shop.address}`, ...config, plugins }, ...rest }),
    );
    const [report, runDir] = [join(dir, `${name}.json`), join(dir, `${name}-run`)];
    const env = {
      ARTILLERY_PLUGIN_PATH: PLUGINS,
      ARTILLERY_DISABLE_TELEMETRY: 'true',
      MQTT_URL: broker.url('subscriber'),
      RUN_DIR: runDir,
      ...more,
    };
    const command = execa(process.execPath, [bin, 'run', '--output', report, ...args, file], {
      cwd: dir,
      env,
      reject: false,
      all: true,
    });
    if (interrupted) {
      const seconds = join(runDir, 'timeline.ndjson');
      await eventually(
        () => existsSync(seconds) && statSync(seconds).size > 0,
        'a second of the run',
        60_000,
      );
      command.kill('SIGINT');
    }
    const { exitCode, all } = await command;
    const text = String(all);
    if (!existsSync(report)) return { exitCode, text, counters: {}, runDir };
    const { counters } = JSON.parse(await readFile(report, 'utf8')).aggregate as { counters: Counters };
    return { exitCode, text, counters, runDir };
  }

  /** A script of Artillery whose virtual users do this. */
  const flow = (...steps: object[]): Script => ({
    config: { phases: [{ duration: 2, arrivalRate: 5 }] },
    scenarios: [{ name: 'buy', flow: steps }],
  });
  const order = (more: object = {}) => ({ post: { url: '/orders', json: { order: { item: 1 } }, ...more } });

  test('an ordinary script with four more lines: a login, a CSV file, captures, a loop, and one message', async () => {
    await writeFile(join(dir, 'users.csv'), 'email,password\nada@x.org,a\nbob@x.org,b\n');
    const capture = { json: '$.token', as: 'token' };
    const { text, counters, runDir } = await artillery(
      'ordinary',
      {
        config: {
          phases: [{ name: 'load', duration: 3, arrivalRate: 10 }],
          payload: { path: 'users.csv', fields: ['email', 'password'], skipHeader: true },
        },
        before: { flow: [{ post: { url: '/login', json: { user: 'ada' }, capture } }] },
        scenarios: [
          {
            name: 'buy',
            flow: [
              { get: { url: '/posts', capture: { json: '$.response.posts[1].id', as: 'post' } } },
              { think: 1 },
              { loop: [{ get: { url: '/posts/{{ post }}' } }], count: 2 },
              order({
                headers: { authorization: 'Bearer {{ token }}' },
                json: { order: { item: '{{ post }}' }, by: '{{ email }}' },
              }),
            ],
          },
        ],
      },
      { messages: 'POST /orders', id: 'order.ref', limits: { arrival_p99: ['value<1000'] } },
    );
    const run = await readRun(runDir, text);
    assert.deepEqual([run.account.scheduled, run.account.arrived], [30, 30], text);
    assert.deepEqual([run.run.model, run.run.tool.name, run.flows[0]?.name], ['open', 'artillery', 'buy']);
    assert.deepEqual(figuresOf(run), { 'due by the phases': 0, 'due within sessions': 30 });
    const first = JSON.parse(String(shop.orders[0]).replace(/^\S+ /, ''));
    assert.match(first.order.ref, new RegExp(`^${run.run.id}\\.`), 'its id is where the options say');
    assert.equal(first.order.item, 2, 'beside what the script puts there');
    assert.deepEqual(shop.seen, {
      'POST /login': 1,
      'GET /posts': 30,
      'GET /posts/n': 60,
      'POST /orders': 30,
    });
    assert.deepEqual([counters['vusers.completed'], counters['arrival.arrived']], [30, 30]);
  });

  const outlets: [
    name: string,
    arrive: () => Promise<object | undefined> | object | undefined,
    outlet: () => Outlet,
  ][] = [
    ['mqtt', () => undefined, () => (one) => client.publish('messages/shop', one, { qos: 1 })],
    [
      'webhook',
      async () => {
        const port = await freePort();
        shop.webhook = `http://127.0.0.1:${port}/`;
        return { webhook: { address: `127.0.0.1:${port}` } };
      },
      () => shop.toWebhook,
    ],
    ['websocket', () => ({ websocket: { url: `ws://${shop.address}/news` } }), () => shop.toSockets],
    ['sse', () => ({ sse: { url: `http://${shop.address}/events` } }), () => shop.toStreams],
    [
      'queue',
      () => ({ queue: { url: redis.as('collector') } }),
      () => (one) => queue.append([{ target: 'shop', stamps: '', body: one }]),
    ],
  ];
  for (const [name, arrive, outlet] of outlets)
    test(`the account is exact where orders arrive by ${name}: of 1,000 three are lost and two come twice`, async () => {
      shop.whole = false;
      shop.outlet = outlet();
      const script = { ...flow(order()), config: { phases: [{ duration: 10, arrivalRate: 100 }] } };
      const options = { ...ALONG, arrive: await arrive() };
      const { text, runDir, exitCode, counters } = await artillery(`exact-${name}`, script, options);
      const { account, verdict, ...run } = await readRun(runDir, text);
      const sent = Number(counters['http.requests']);
      const lost = [100, 400, 700].filter((n) => n <= sent).length;
      const twice = [200, 500].filter((n) => n <= sent).length;
      assert.ok(sent > 700, text);
      assert.deepEqual(
        [account.scheduled, account.arrived, account.lost, account.duplicates, account.foreign],
        [sent, sent - lost, lost, twice, 0],
        text,
      );
      assert.ok(account.balanced);
      assert.deepEqual(figuresOf(run as Run), { 'due by the phases': sent, 'due within sessions': 0 });
      assert.equal(verdict.result, 'fail');
      assert.equal(exitCode, 99);
    });

  test("the marketplace's own script: 7:2:1, a CSV file, a login, captures and think times", async () => {
    await writeFile(
      join(dir, 'market.csv'),
      ['email,password,lastId,idx', ...Array.from({ length: 9 }, (_, i) => `u${i}@x.org,p,${i},${i}`)].join(
        '\n',
      ),
    );
    const headers = { authorization: 'Bearer {{ token }}' };
    const list = {
      get: {
        url: '/api/posts?last_id={{ lastId }}',
        headers,
        capture: { json: '$.response.posts[{{ idx }}].id', as: 'postId' },
      },
    };
    const view = {
      get: {
        url: '/api/posts/{{ postId }}',
        headers,
        capture: { json: '$.response.room.uid', as: 'roomUid' },
      },
    };
    const login = {
      url: '/api/users/login',
      json: { email: 'ada@x.org', password: 'p' },
      capture: { json: '$.response.access_token', as: 'token' },
    };
    const { text, counters, runDir } = await artillery(
      'market',
      {
        config: {
          http: { timeout: 10 },
          phases: [
            { name: 'warm-up', duration: 4, arrivalRate: 10 },
            { name: 'ramp', duration: 4, arrivalRate: 10, rampTo: 20 },
            { name: 'sustained', duration: 4, arrivalRate: 20 },
          ],
          payload: {
            path: 'market.csv',
            fields: ['email', 'password', 'lastId', 'idx'],
            skipHeader: true,
          },
        },
        before: { flow: [{ post: login }] },
        scenarios: [
          { name: 'browse', weight: 7, flow: [list, { think: 2 }, view] },
          {
            name: 'join',
            weight: 2,
            flow: [
              list,
              { think: 2 },
              view,
              { think: 5 },
              { post: { url: '/api/rooms/{{ roomUid }}', headers, json: { email: '{{ email }}' } } },
            ],
          },
          {
            name: 'write',
            weight: 1,
            flow: [{ post: { url: '/api/posts', headers, json: { title: 'A post' } } }],
          },
        ],
      },
      { messages: ['POST /api/rooms/*', 'POST /api/posts'], id: 'ref', unmeasured: 'warm-up' },
    );
    const { account, flows, steps, ...run } = await readRun(runDir, text);
    const [joined, wrote] = ['join', 'write'].map((name) => counters[`vusers.created_by_name.${name}`] ?? 0);
    assert.equal(counters['vusers.failed'], 0, text);
    assert.deepEqual(
      [account.scheduled, account.arrived, account.balanced],
      [Number(joined) + Number(wrote), Number(joined) + Number(wrote), true],
      text,
    );
    assert.deepEqual(figuresOf(run as Run), { 'due by the phases': wrote, 'due within sessions': joined });
    assert.deepEqual(
      flows.map(({ name }) => name),
      ['join', 'write'],
    );
    assert.deepEqual(
      steps.map(({ name, measured }) => [name, measured]),
      [
        ['warm-up', false],
        ['ramp', true],
        ['sustained', true],
      ],
    );
    assert.equal(shop.seen['POST /api/users/login'], 1);
  });

  test('what the plugin marked and a hook keeps back, the shop refuses, or does not answer has its end', async () => {
    await writeFile(
      join(dir, 'failing.cjs'),
      `let n = 0;
module.exports = {
  often(params, context, events, next) { next(n++ % 5 === 0 ? new Error('the hook had enough') : undefined); },
};`,
    );
    const to = (url: string) => ({ post: { url, json: {} } });
    const { text, runDir, counters } = await artillery(
      'failing',
      {
        config: { ...flow().config, processor: 'failing.cjs', http: { timeout: 1 } },
        scenarios: [
          { flow: [order({ beforeRequest: 'often' }), to('/orders/refused'), to('/orders/silent'), order()] },
        ],
      },
      { ...ALONG, messages: ['POST /orders', 'POST /orders/*'] },
    );
    const { account, errors } = await readRun(runDir, text);
    const { scheduled, dropped, rejected, unknown, arrived, balanced } = account;
    assert.deepEqual(
      { scheduled, dropped, rejected, unknown, arrived, balanced },
      { scheduled: 26, dropped: 2, rejected: 8, unknown: 8, arrived: 8, balanced: true },
      text,
    );
    const examples = errors.map(({ example }) => String(example));
    assert.ok(
      examples.some((one) => /the hook often failed: the hook had enough/.test(one)),
      text,
    );
    assert.equal(counters['vusers.failed'], 10);
  });

  test('a function of the script that sends by itself, and fails, leaves its message unknown', async () => {
    await writeFile(
      join(dir, 'down.cjs'),
      `let n = 0;
exports.call = async ({ vars }) => {
  if (n++ % 2) throw new Error('the call failed');
  await fetch(vars.target + '/orders/' + vars.$arrival.id, { method: 'POST' });
};`,
    );
    const script = flow({ function: 'call' });
    script.config.processor = 'down.cjs';
    const { text, runDir, counters } = await artillery('down', script, {
      messages: 'function call',
      idle: 2,
    });
    const { account, errors } = await readRun(runDir, text);
    assert.deepEqual([account.scheduled, account.arrived, account.unknown], [10, 5, 5], text);
    assert.ok(errors.some(({ example }) => /the call failed/.test(String(example))));
    assert.equal(counters['errors.the call failed'], 5);
  });

  test('a virtual user that comes late has that in its latency', async () => {
    await writeFile(
      join(dir, 'late.cjs'),
      `let n = 0;
module.exports = {
  block(params, response, context, events, next) {
    if (n++ === 5) for (const end = Date.now() + 1000; Date.now() < end; );
    next();
  },
};`,
    );
    const phases = [{ duration: 3, arrivalRate: 10 }];
    const { text, runDir } = await artillery(
      'late',
      {
        config: { phases, processor: 'late.cjs' },
        scenarios: [{ flow: [order({ afterResponse: 'block' })] }],
      },
      ALONG,
    );
    const { account, latency } = await readRun(runDir, text);
    assert.equal(account.arrived, account.scheduled, text);
    assert.ok(Number(latency.arrival.max) > 700, 'from when its phase should have started it');
    assert.ok(Number(latency.from_send.p50) < Number(latency.arrival.max), text);
  });

  test('a request that a condition skips leaves the time of its phase to the next', async () => {
    const skipped = { get: { url: '/posts', ifTrue: 'none == 1' } };
    const { text, runDir } = await artillery('skipped', flow(skipped, order()), ALONG);
    const { account, ...run } = await readRun(runDir, text);
    assert.equal(account.arrived, 10, text);
    assert.deepEqual(figuresOf(run as Run), { 'due by the phases': 10, 'due within sessions': 0 });
  });

  test('an id anywhere in a request, and a function that says which ones carry a message', async () => {
    await writeFile(
      join(dir, 'chosen.cjs'),
      'module.exports = { bought: async ({ method }, { vars }) => method === "POST" && vars.$loopCount === 1 };',
    );
    const loop = [{ post: { url: '/orders/{{ $arrival.id }}', body: 'x' } }];
    const { text, runDir } = await artillery(
      'anywhere',
      {
        config: { ...flow().config, processor: 'chosen.cjs' },
        scenarios: [{ flow: [{ loop, count: 3 }] }],
      },
      { messages: { function: 'bought' }, idle: 2 },
    );
    const { account } = await readRun(runDir, text);
    assert.deepEqual([account.scheduled, account.arrived], [10, 10], text);
    assert.equal(shop.orders.length, 30, 'the others are sent as ever');
  });

  test('several threads of Artillery send, and one recorder measures them', async () => {
    const four = join(dir, 'four.mjs');
    await writeFile(
      four,
      "import os from 'node:os';\nconst one = os.cpus()[0];\nos.cpus = () => [one, one, one, one];\n",
    );
    const script = { ...flow(order()), config: { phases: [{ duration: 2, arrivalRate: 30 }] } };
    const { text, counters, runDir } = await artillery('threads', script, ALONG, [], {
      NODE_OPTIONS: `--import ${four}`,
    });
    const { account, run, ...rest } = await readRun(runDir, text);
    const ids = shop.orders.map((one) => JSON.parse(one.replace(/^\S+ /, '')).order.ref as string);
    assert.deepEqual([account.scheduled, account.arrived], [60, 60], text);
    assert.equal(
      new Set(ids.map((id) => Number(id.split('.').at(-1)) % 3)).size,
      3,
      'each has its own numbers',
    );
    assert.deepEqual([new Set(ids).size, counters['arrival.arrived'], run.model], [60, 60, 'open']);
    assert.deepEqual(figuresOf(rest as Run), { 'due by the phases': 60, 'due within sessions': 0 });
  });

  test("ensure and publish-metrics have the figures of arrival, and ensure's limits fail the run", async (t) => {
    const pushed: string[] = [];
    const gateway = createServer((request, response) => {
      request.on('data', (chunk) => pushed.push(String(chunk)));
      request.on('end', () => response.end());
    });
    const to = [{ type: 'prometheus', pushgateway: `http://${await listen(t, gateway)}` }];
    const thresholds = [{ 'arrival.latency.p99': 0.001 }, { 'arrival.lost': 1 }];
    const script = flow(order());
    script.config.plugins = { 'publish-metrics': to, ensure: { thresholds } };
    const { text, exitCode, runDir } = await artillery('published', script, ALONG);
    const { account } = await readRun(runDir, text);
    assert.deepEqual([account.scheduled, account.arrived], [10, 10], text);
    assert.match(text, /fail: arrival\.latency\.p99 < 0\.001/);
    assert.match(
      text,
      /arrival: arrival\.latency\.p99 is [\d.]+, and ensure wants arrival\.latency\.p99 < 0\.001/,
    );
    assert.match(text, /ok: arrival\.lost < 1/);
    assert.equal(exitCode, 1, text);
    const pushes = pushed.join('\n');
    assert.match(pushes, /artillery_summaries\{metric="arrival_latency_p99"[^}]*\} [\d.]+/, text);
    assert.match(pushes, /artillery_counters\{metric="arrival_arrived"[^}]*\} 10/, text);
  });

  test('verify compares what arrives with what was sent', async () => {
    shop.outlet = (one) => {
      const n = shop.orders.length;
      const body = one.replace(/^\S+ /, '');
      client.publish('messages/shop', n % 5 === 0 ? body.replace('item', 'items') : body, { qos: 1 });
    };
    const { text, runDir } = await artillery('verified', flow(order()), { ...ALONG, verify: 1 });
    const { account, errors } = await readRun(runDir, text);
    assert.deepEqual(
      [account.scheduled, account.arrived, account.altered, account.lost],
      [10, 8, 2, 0],
      text,
    );
    assert.ok(errors.some(({ class: of, count }) => of === 'altered' && count === 2));
  });

  test('messages come to several targets, each at two subscribers', async () => {
    const topics = ['messages/shop', 'messages/depot'];
    shop.outlet = (one) => client.publish(topics[shop.orders.length % 2] as string, one, { qos: 1 });
    const options = { ...ALONG, targets: ['shop', 'depot'], deliveries: 2 };
    const { text, runDir } = await artillery('targets', flow(order()), options);
    const { account, targets } = await readRun(runDir, text);
    const { scheduled, arrived, foreign, misdelivered } = account;
    assert.deepEqual([scheduled, arrived, foreign, misdelivered], [10, 10, 0, 0], text);
    assert.deepEqual(account.deliveries, { due: 20, arrived: 20, missing: 0 });
    assert.deepEqual(targets?.rows.map(({ name, arrival }) => [name, arrival?.count]).sort(), [
      ['depot', 10],
      ['shop', 10],
    ]);
  });

  test('Ctrl-C leaves an incomplete run with what it has', async () => {
    const script = { ...flow(order()), config: { phases: [{ duration: 60, arrivalRate: 5 }] } };
    const { text, exitCode, runDir } = await artillery('interrupted', script, ALONG, [], {}, true);
    const { verdict, account } = await readRun(runDir, text);
    assert.deepEqual([exitCode, verdict.result, account.balanced], [130, 'incomplete', true], text);
    assert.ok(account.arrived > 0, text);
  });

  test('a wrong option of the plugin ends the run in one line, before anything is sent', async () => {
    const cases: [options: object, says: RegExp][] = [
      [{ messages: 'POST /order', id: 'ref' }, /^arrival: .*POST \/order\b.*such as POST \/orders/m],
      [{ messages: 'POST /orders' }, /^arrival: config\.plugins\.arrival\.id is missing/m],
      [{ messages: 'orders', id: 'ref' }, /^arrival: .*messages has "orders"; allowed: /m],
      [{ messages: 'POST /orders', id: 'a b' }, /^arrival: .*\.id is "a b"; allowed: /m],
      [
        { ...ALONG, arrive: { mqt: {} } },
        /^arrival: .*arrive is \{"mqt":\{\}\}, mqtt is; allowed: one of mqtt, /m,
      ],
      [{ ...ALONG, arrive: { webhook: { address: 9 } } }, /^arrival: .*webhook.*address/m],
      [
        { ...ALONG, arrive: { webhook: { adress: ':0' } } },
        /^arrival: .*webhook\.adress", address is known; allowed: /m,
      ],
      [{ ...ALONG, idel: 2 }, /^arrival: .*idel/m],
      [{ ...ALONG, limits: { arrival_p9: ['value<1'] } }, /^arrival: .*arrival_p9 is not measured/m],
      [{ messages: { function: 'none' }, id: 'ref' }, /^arrival: .*function none, which config\.processor/m],
      [{ ...ALONG, unmeasured: 'warm' }, /^arrival: .*unmeasured has warm; allowed: phase 1/m],
    ];
    for (const [options, says] of cases) {
      const { exitCode, text } = await artillery('wrong', flow(order()), options);
      assert.match(text, says);
      assert.equal(exitCode, 1, text);
      assert.doesNotMatch(text, /^\s+at /m, 'no stack trace');
      assert.deepEqual(shop.orders, []);
    }
  });

  describe('a script of each kind does with the plugin what it does without it', { concurrency: 2 }, () => {
    for (const [
      name,
      { script, files = {}, options = ALONG, args = [], env = {}, messages, without = [] },
    ] of Object.entries(KINDS))
      test(name, async () => {
        for (const [file, content] of Object.entries(files)) await writeFile(join(dir, file), content);
        const given = script(shop.address);
        const alone = await artillery(`${name}-alone`, given, undefined, args, env);
        const along = await artillery(`${name}-along`, given, options, args, env);
        const counted = (of: Record<string, number>) =>
          Object.entries(of)
            .filter(([key]) => !/^arrival\./.test(key) && !without.some((one) => one.test(key)))
            .sort();
        assert.ok(Number(alone.counters['vusers.completed']) > 0, alone.text);
        assert.deepEqual(counted(along.counters), counted(alone.counters), along.text);
        const { account } = await readRun(along.runDir, along.text);
        assert.ok(account.balanced, along.text);
        if (messages !== undefined) assert.equal(account.scheduled, messages, along.text);
        assert.ok(account.scheduled > 0, along.text);
        assert.equal(account.arrived, account.scheduled, along.text);
      });
  });
});

/** The plugin's own figures of a run. */
const figuresOf = ({ figures }: Run) =>
  Object.fromEntries((figures ?? []).map(({ name, value }) => [name, value]));
