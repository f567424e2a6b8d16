/** The plugin rides along with scripts of real Artillery, which keep what they do without it. Installs Artillery if needed. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { execa } from 'execa';
import { connectAsync, type MqttClient } from 'mqtt';
import { stringify } from 'yaml';
import { remove, startBroker, temporaryDirectory } from '../../../pipeline/test/services.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { installed } from '../../../scenarios/run/artillery-run.ts';
import { ROOT, readRun } from '../../../scenarios/test/harness.ts';
import { Shop } from './shop.ts';

const PLUGINS = join(import.meta.dirname, '../artillery/plugins');

describe('riding along', () => {
  let [dir, bin] = ['', ''];
  let shop: Shop;
  let broker: Awaited<ReturnType<typeof startBroker>>;
  let client: MqttClient;
  before(async () => {
    bin = await installed({ stdout: process.stdout });
    dir = await temporaryDirectory();
    broker = await startBroker();
    client = await connectAsync(broker.url('relay'));
    shop = await Shop.open();
  });
  after(async () => {
    shop?.close();
    await client?.endAsync();
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
  async function artillery(name: string, script: Script, arrival?: object, args: string[] = []) {
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
    };
    const { exitCode, all } = await execa(process.execPath, [bin, 'run', '--output', report, ...args, file], {
      cwd: ROOT,
      env,
      reject: false,
      all: true,
    });
    const text = String(all);
    assert.ok(existsSync(report), text);
    const { counters } = JSON.parse(await readFile(report, 'utf8')).aggregate as {
      counters: Record<string, number>;
    };
    return { exitCode, text, counters, runDir };
  }

  test('an ordinary script with four more lines', async () => {
    await writeFile(join(dir, 'users.csv'), 'email,password\nada@x.org,a\nbob@x.org,b\n');
    const { text, counters, runDir } = await artillery(
      'ordinary',
      {
        config: {
          phases: [{ name: 'load', duration: 3, arrivalRate: 10 }],
          payload: { path: 'users.csv', fields: ['email', 'password'], skipHeader: true },
        },
        before: {
          flow: [
            {
              post: {
                url: '/login',
                json: { user: 'ada' },
                capture: { json: '$.token', as: 'token' },
              },
            },
          ],
        },
        scenarios: [
          {
            name: 'buy',
            flow: [
              { get: { url: '/posts', capture: { json: '$.response.posts[1].id', as: 'post' } } },
              { think: 0.1 },
              { loop: [{ get: { url: '/posts/{{ post }}' } }], count: 2 },
              {
                post: {
                  url: '/orders',
                  headers: { authorization: 'Bearer {{ token }}' },
                  json: { order: { item: '{{ post }}' }, by: '{{ email }}' },
                },
              },
            ],
          },
        ],
      },
      { messages: 'POST /orders', id: 'order.ref', limits: { arrival_p99: ['value<1000'] } },
    );
    console.log(text);
    const { account, flows } = await readRun(runDir, text);
    assert.equal(account.scheduled, 30, text);
    assert.equal(account.arrived, 30, text);
    assert.equal(flows[0]?.name, 'buy');
    assert.equal(counters['vusers.completed'], 30);
  });
});

interface Script {
  config: Record<string, unknown>;
  [key: string]: unknown;
}

export type { Run };
