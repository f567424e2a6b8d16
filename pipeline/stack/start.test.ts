/** A start against servers that do not answer as they should: it ends with a sentence, and with Ctrl-C at any moment. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PipelineCommand, refusalOf } from '../test/command.ts';
import { remove, temporaryDirectory } from '../test/services.ts';
import {
  closes,
  isSilent,
  refuses,
  resets,
  serve,
  speaksHttp,
  subscribes,
  type Treatment,
} from '../test/strangers.ts';
import { claimPort } from './ports.ts';
import { Supervised } from './process.ts';

let dir: string;
before(async () => {
  dir = await temporaryDirectory();
});
after(() => remove(dir));

const strangers: [
  name: string,
  treat: Treatment,
  url: (at: string) => Record<string, string>,
  says: RegExp,
][] = [
  // Regression: a broker that closed the connection on CONNECT let the command wait for ever, without a line.
  [
    'a broker that closes on CONNECT',
    closes,
    (at) => ({ MQTT_URL: `mqtt://${at}` }),
    /closed .*CONNECT.*MQTT 5/,
  ],
  ['no TLS', closes, (at) => ({ MQTT_URL: `mqtts://${at}` }), /closed .*TLS handshake/],
  ['a silent broker', isSilent, (at) => ({ MQTT_URL: `mqtt://${at}` }), /does not answer CONNECT/],
  ['HTTP instead of MQTT', speaksHttp, (at) => ({ MQTT_URL: `mqtt://${at}` }), /does not speak MQTT/],
  ['HTTP instead of TLS', speaksHttp, (at) => ({ MQTT_URL: `mqtts://${at}` }), /without TLS/],
  ['no MQTT 5', refuses(0x84), (at) => ({ MQTT_URL: `mqtt://${at}` }), /Protocol Version.*MQTT 5/],
  [
    'no retained will',
    refuses(0x9a),
    (at) => ({ MQTT_URL: `mqtt://${at}` }),
    /Retain not supported.*retained will/,
  ],
  // Regression: it waited for ever, without a line.
  [
    'no answer to SUBSCRIBE',
    subscribes(() => {}),
    (at) => ({ MQTT_URL: `mqtt://${at}` }),
    /does not answer .*subscription/,
  ],
  // Regression: "Connection closed".
  [
    'a broker that closes on SUBSCRIBE',
    subscribes((socket) => socket.destroy()),
    (at) => ({ MQTT_URL: `mqtt://${at}` }),
    /closes .*subscription/,
  ],
  [
    'no right to subscribe',
    subscribes((socket, id) => socket.write(Buffer.from([0x90, 4, id >> 8, id & 0xff, 0, 0x87]))),
    (at) => ({ MQTT_URL: `mqtt://${at}` }),
    /refuses a subscription, Not authorized/,
  ],
  ['an unknown refusal', refuses(0xc1), (at) => ({ MQTT_URL: `mqtt://${at}` }), /0xc1/],
  ['a Redis that closes', closes, (at) => ({ REDIS_URL: `redis://${at}` }), /closed the connection/],
  ['a silent Redis', isSilent, (at) => ({ REDIS_URL: `redis://${at}` }), /does not answer/],
  ['a Redis that resets', resets, (at) => ({ REDIS_URL: `redis://${at}` }), /is it another server/],
  ['no answer to TLS', isSilent, (at) => ({ REDIS_URL: `rediss://${at}` }), /redis:\/\/ is without TLS/],
  ['HTTP instead of Redis', speaksHttp, (at) => ({ REDIS_URL: `redis://${at}` }), /does not speak/],
];
// They mostly wait for an answer.
describe('the start ends in one line', { concurrency: 4 }, () => {
  for (const [name, treat, url, says] of strangers) {
    test(name, async (t) => {
      const settings = url(`user:secret@127.0.0.1:${await serve(t, treat)}`);
      const refusal = await refusalOf({ STACK_DIR: join(dir, name), ...settings });
      assert.match(refusal, says);
      assert.match(refusal, new RegExp(`^${Object.keys(settings)[0]}: [^\\n]*:\\*\\*\\*@[^\\n]*\\n$`));
    });
  }
});

test('the start ends in one line: a name that nobody knows', async () => {
  for (const [variable, scheme] of [
    ['MQTT_URL', 'mqtt'],
    ['REDIS_URL', 'redis'],
  ] as const) {
    const settings = { [variable]: `${scheme}://no-such-host.invalid` };
    const refusal = await refusalOf({ STACK_DIR: join(dir, 'nobody'), ...settings });
    assert.match(refusal, new RegExp(`^${variable}: [^\\n]*no-such-host\\.invalid[^\\n]*\\n$`));
  }
});

// Regression: "fetch failed".
test('the start ends in one line: a port that HTTP clients refuse', async () => {
  const free = [10_080, 6697, 6669, 4190, 1719].map((port) => claimPort('INGEST_PORT', port));
  const INGEST_PORT = String(await Promise.any(free));
  const refusal = await refusalOf({ STACK_DIR: join(dir, 'port'), INGEST_PORT });
  assert.match(refusal, new RegExp(`^INGEST_PORT=${INGEST_PORT} cannot be used: [^\\n]*\\n$`));
});

// Regression: "relay-1 is not ready after 30000 ms".
test('a relay that is not ready is reported with its last warning', async (t) => {
  const lines = ['{"level":30,"msg":"health"}', '{"level":40,"msg":"no PUBACK"}'].join('\n');
  const args = ['-e', 'console.log(process.env.LINES); setInterval(() => {}, 1e6)'];
  const launch = { name: 'relay-1', command: process.execPath, args, env: { LINES: lines } };
  const relay = await Supervised.start(launch, { logs: dir });
  t.after(() => relay.stop());
  await relay.says(/no PUBACK/, 60_000);
  await assert.rejects(relay.says(/relaying as/, 0), /^Error: relay-1 is not ready after 0 ms: no PUBACK$/);
});

// Regression: the first signal waited for the end of the start.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends a start that waits for a silent broker`, async (t) => {
    const connected = Promise.withResolvers<void>();
    const port = await serve(t, () => connected.resolve());
    const STACK_DIR = join(dir, `waits-${signal}`);
    const command = new PipelineCommand(t, { STACK_DIR, MQTT_URL: `mqtt://127.0.0.1:${port}` });
    await connected.promise;
    assert.equal(await command.stop(signal), 130);
    assert.match(command.output, /stopped\n$/);
    assert.doesNotMatch(command.output, /MQTT_URL/);
    assert.ok(!existsSync(join(STACK_DIR, 'stack.json')));
  });
}
