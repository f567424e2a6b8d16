/** The log has two lines of an outage: one when it begins, whose reason is true, and one when it ends. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../stack/ports.ts';
import { type Env, type InProcess, ingestHere, relayHere } from '../test/running.ts';
import { eventually, startBroker, startRedis } from '../test/services.ts';

const WITHIN_MS = 30_000;
/** Several attempts of ingest and relay to connect fall into it, each with a reason of its own. */
const OUTAGE_MS = 3000;
const TOKEN = 'a-token-of-the-test';

let redis: Awaited<ReturnType<typeof startRedis>>;
let broker: Awaited<ReturnType<typeof startBroker>>;
before(async () => {
  [redis, broker] = await Promise.all([startRedis(), startBroker()]);
});
after(async () => {
  await redis.service.remove();
  await broker.service.remove();
});

function start(t: TestContext, here: (env: Env) => InProcess, own: Env): InProcess {
  const running = here({ REDIS_TIMEOUT_MS: '1000', MQTT_TIMEOUT_MS: '1000', ...own });
  t.after(() => running.stop());
  return running;
}

/** The messages of its log from level *info* on. */
const said = ({ lastLines }: InProcess): string[] =>
  lastLines.map((line) => (line.startsWith('{') ? JSON.parse(line).msg : line));

for (const kind of [{}, { STREAM_SHARDS: '2' }, { QUEUE: 'list' }] as Record<string, string>[]) {
  const name = `${kind.QUEUE ?? 'stream'}, ${kind.STREAM_SHARDS ?? 1} shard(s)`;
  // Regression: three to six lines for each outage, the reason of each attempt in turn.
  test(`${name}: an outage of Redis, a hanging Redis, an outage of the broker: two lines each`, async (t) => {
    const admin = new Redis(redis.url);
    await admin.flushall();
    admin.disconnect();
    const port = String(await freePort());
    const [ingest, relay] = [
      start(t, ingestHere, {
        ...kind,
        PROCESS_NAME: 'ingest-x',
        REDIS_URL: redis.as('ingest'),
        INGEST_PORT: port,
        INGEST_TOKEN: TOKEN,
      }),
      start(t, relayHere, {
        ...kind,
        PROCESS_NAME: 'relay-x',
        REDIS_URL: redis.as('relay'),
        MQTT_URL: broker.url('relay'),
      }),
    ];
    await Promise.all([ingest.says(/listening at/, WITHIN_MS), relay.says(/relaying as/, WITHIN_MS)]);
    let [sent, accepted] = [0, 0];
    const sending = setInterval(async () => {
      const body = JSON.stringify({ id: `r.1.${sent++}`, target: 'a', payload: 'x' });
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const answer = await fetch(`http://127.0.0.1:${port}/messages`, {
        method: 'POST',
        headers,
        body,
      }).catch(() => undefined);
      if (answer?.status === 202) accepted++;
    }, 20);
    t.after(() => clearInterval(sending));
    const flows = async () => {
      const before = accepted;
      await eventually(() => accepted > before + 5, 'messages', WITHIN_MS);
    };

    /** Lets an outage pass. Returns what both logged in it, and a while longer. */
    const during = async (
      begin: () => void,
      end: () => unknown,
    ): Promise<[ingest: string[], relay: string[]]> => {
      await flows();
      for (const each of [ingest, relay]) each.lastLines.length = 0;
      begin();
      await sleep(OUTAGE_MS);
      await end();
      await flows();
      await relay.says(/answers, after/, WITHIN_MS);
      await sleep(1000);
      return [said(ingest), said(relay)];
    };

    const twoLines = (lines: string[], server: string, reason: RegExp) => {
      assert.equal(lines.length, 2, lines.join('\n'));
      assert.match(lines[0] ?? '', new RegExp(`^${server} is away: .*(${reason.source})`));
      assert.match(lines[1] ?? '', new RegExp(`^${server} answers, after \\d+\\.\\d s$`));
    };

    const killed = await during(
      () => redis.service.signal('SIGKILL'),
      () => redis.service.start(),
    );
    for (const lines of killed) twoLines(lines, 'Redis', /closed the connection/);

    const stopped = await during(
      () => redis.service.signal('SIGSTOP'),
      () => redis.service.signal('SIGCONT'),
    );
    for (const lines of stopped) twoLines(lines, 'Redis', /in time|timeout/i);

    const [quiet, brokerless] = await during(
      () => broker.service.signal('SIGKILL'),
      () => broker.service.start(),
    );
    assert.deepEqual(quiet, []);
    twoLines(brokerless, 'the broker', /closed the connection/);
  });
}
