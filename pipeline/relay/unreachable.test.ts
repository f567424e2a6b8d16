/** A relay whose broker cannot be used from the start on: the log and /readyz name the cause. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { freePort } from '../stack/ports.ts';
import { type Env, healthOf, type InProcess, inItsProcess, relayHere } from '../test/running.ts';
import { eventually, startRedis } from '../test/services.ts';
import { closes, isSilent, refuses, serve, speaksHttp, swallow, type Treatment } from '../test/strangers.ts';

const WITHIN_MS = 60_000;

let redis: Awaited<ReturnType<typeof startRedis>>;
before(async () => {
  redis = await startRedis();
});
after(async () => {
  await redis.service.remove();
});

const settings = (MQTT_URL: string, MQTT_TIMEOUT_MS = '2000'): Env => ({
  REDIS_URL: redis.as('relay'),
  MQTT_URL,
  MQTT_TIMEOUT_MS,
  PROCESS_NAME: 'relay-x',
});

function launch(t: TestContext, MQTT_URL: string, MQTT_TIMEOUT_MS?: string): InProcess {
  const relay = relayHere(settings(MQTT_URL, MQTT_TIMEOUT_MS));
  t.after(() => relay.stop());
  return relay;
}

/** Takes the connection, and acknowledges nothing. */
const takesOnlyConnections: Treatment = (socket) =>
  socket.once('data', () => socket.write(Buffer.from([0x20, 3, 0, 0, 0])));
const closesLater: Treatment = (socket) => {
  takesOnlyConnections(socket);
  socket.once('data', () => socket.once('data', () => socket.end()));
};

const cases: [name: string, scheme: string, treat: Treatment | undefined, cause: RegExp][] = [
  ['nobody listens', 'mqtt', undefined, /ECONNREFUSED/],
  ['it closes on CONNECT', 'mqtt', closes, /closed .*CONNECT/],
  ['it is silent', 'mqtt', isSilent, /does not answer CONNECT/],
  ['it has no TLS', 'mqtts', speaksHttp, /without TLS/],
  ['it closes the TLS handshake', 'mqtts', closes, /closed .*TLS handshake/],
  ['it is not a broker', 'mqtt', speaksHttp, /does not speak MQTT/],
  ['it is busy', 'mqtt', refuses(0x89), /refuses .*busy/i],
  ['it acknowledges nothing', 'mqtt', takesOnlyConnections, /no PUBACK/],
  ['it closes on the first message', 'mqtt', closesLater, /closed the connection/],
];
for (const [name, scheme, treat, cause] of cases) {
  // Regression: no line in the log, and /readyz said only that it is away.
  test(`the log and /readyz name the cause: ${name}`, async (t) => {
    const port = treat === undefined ? await freePort() : await serve(t, treat);
    const relay = launch(t, `${scheme}://user:secret@127.0.0.1:${port}`);
    await relay.says(new RegExp(`the broker is away: .*${cause.source}`, cause.flags), WITHIN_MS);
    const health = await healthOf(relay);
    await eventually(
      async () => cause.test(await (await fetch(`${health}/readyz`)).text()),
      'the cause',
      WITHIN_MS,
    );
  });
}

// Regression: with ten seconds for each attempt a relay, or a subscriber, was the last to see that the broker had moved.
test('an address that swallows packets is left after two seconds, and the next attempt has more time', async (t) => {
  const { port, end } = await swallow(t);
  const relay = launch(t, `mqtt://user:secret@127.0.0.1:${port}`, '60000');
  await relay.says(/there is no connection within 2000 ms/, WITHIN_MS);
  const health = await healthOf(relay);
  const names = async (cause: RegExp) => cause.test(await (await fetch(`${health}/readyz`)).text());
  await eventually(() => names(/there is no connection within 4000 ms/), 'the second attempt', WITHIN_MS);
  await end();
  await eventually(() => names(/ECONNREFUSED/), 'the third attempt', WITHIN_MS);
  // One outage, one line.
  assert.equal(relay.lastLines.filter((line) => /is away/.test(line)).length, 1);
});

for (const code of [0x84, 0x87, 0x9a]) {
  test(`a refusal that stays ends the relay with one line: 0x${code.toString(16)}`, async (t) => {
    const env = settings(`mqtt://user:secret@127.0.0.1:${await serve(t, refuses(code))}`);
    const relay = code === 0x87 ? await inItsProcess(t, 'relay', env) : relayHere(env);
    assert.equal(await relay.ended, 'exited with code 1');
    const plain = relay.lastLines.filter((line) => !line.startsWith('{'));
    assert.equal(plain.length, 1);
    assert.match(plain[0] ?? '', new RegExp(`^MQTT_URL: .*0x${code.toString(16)}`));
  });
}
