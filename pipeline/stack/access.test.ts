import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync, type MqttClient } from 'mqtt';
import { eventually, startBroker, startRedis } from '../test/services.ts';
import { BROKER_USERS, type BrokerUser, REDIS_USERS, type RedisUser } from './access.ts';

let redis: Awaited<ReturnType<typeof startRedis>>;
let broker: Awaited<ReturnType<typeof startBroker>>;
const connections = {} as Record<RedisUser, Redis>;
const clients = {} as Record<BrokerUser, MqttClient>;

before(async () => {
  [redis, broker] = await Promise.all([startRedis(), startBroker()]);
  for (const user of REDIS_USERS) connections[user] = new Redis(redis.as(user), { disableClientInfo: true });
  for (const user of BROKER_USERS) {
    clients[user] = await connectAsync(broker.url(user), { protocolVersion: 5, reconnectPeriod: 0 });
  }
});

after(async () => {
  for (const connection of Object.values(connections)) connection.disconnect();
  for (const client of Object.values(clients)) await client.endAsync(true);
  await redis.service.remove();
  await broker.service.remove();
});

const EVERYONE = REDIS_USERS;
const NOBODY: RedisUser[] = [];
const READ_SCRIPT = "return redis.call('XRANGE', KEYS[1], '-', '+')";

/** A command, and the users that may run it. */
const commands: [command: string, allowed: readonly RedisUser[]][] = [
  ['XADD arrival:messages * frame x', ['ingest', 'relay', 'operator']],
  ['XADD arrival:dead-letters * frame x', ['relay', 'operator']],
  ['XADD arrival:telemetry * process x', ['ingest', 'relay', 'stack']],
  ['XADD arrival:other * process x', NOBODY],
  ['XRANGE arrival:messages - +', ['relay', 'operator', 'reader']],
  ['XRANGE arrival:dead-letters - +', ['relay', 'operator', 'reader']],
  ['XRANGE arrival:telemetry - +', ['reader']],
  ['XREADGROUP GROUP relays x STREAMS arrival:messages >', ['relay']],
  ['XGROUP DESTROY arrival:messages relays', NOBODY],
  ['XACK arrival:messages relays 1-1', ['relay']],
  ['XADD arrival:{3}:messages * frame x', ['ingest', 'relay', 'operator']],
  ['XADD arrival:{3}:dead-letters * frame x', ['relay', 'operator']],
  ['SET arrival:shards 1', ['ingest', 'relay']],
  ['GET arrival:shards', EVERYONE],
  ['SET arrival:{3}:lease x', ['relay']],
  ['SET arrival:{3}:messages x', NOBODY],
  ['SET arrival:depth 1', NOBODY],
  ['INCRBY arrival:depth 1', ['ingest', 'relay', 'operator']],
  ['DECRBY arrival:depth 1', ['collector']],
  ['GET arrival:{3}:depth', ['ingest', 'relay', 'stack']],
  ['XDEL arrival:messages 1-1', ['relay', 'operator', 'collector']],
  ['XREAD STREAMS arrival:messages 0', ['collector']],
  ['XREAD STREAMS arrival:telemetry 0', NOBODY],
  ['XDEL arrival:telemetry 1-1', NOBODY],
  ['XLEN arrival:messages', EVERYONE],
  ['TIME', EVERYONE],
  ['HSET arrival:run:x start 1', ['reader']],
  // Regression: the reader might read everything of ours.
  ['XRANGE arrival:other - +', NOBODY],
  ['LRANGE arrival:relays 0 1', NOBODY],
  ['LRANGE arrival:list 0 1', ['reader']],
  ['LRANGE arrival:trace:relay 0 1', ['reader']],
  // Regression: an ingest might delete the list.
  ['LTRIM arrival:list 1 0', NOBODY],
  ['LTRIM arrival:trace:relay 0 1', ['ingest', 'relay']],
  ['XADD arrival:run:x * second x', NOBODY],
  ['EXPIRE arrival:messages 1', NOBODY],
  ['HSET arrival:messages start 1', NOBODY],
  ['GET some-key', NOBODY],
  ['SET arrival:messages x', NOBODY],
  ['DEL arrival:messages', NOBODY],
  ['LRANGE arrival:trace:relay 0 -1', ['reader']],
  ['UNLINK arrival:trace:relay', ['reader']],
  ['UNLINK arrival:messages', NOBODY],
  ['KEYS *', NOBODY],
  ['SCAN 0', NOBODY],
  ['FLUSHALL', NOBODY],
  ['CONFIG GET maxmemory', NOBODY],
  ['CONFIG SET maxmemory 1', NOBODY],
  ['ACL LIST', NOBODY],
  ['ACL SETUSER reader +@all', NOBODY],
  ['CLIENT LIST', NOBODY],
  ['CLIENT KILL TYPE normal', NOBODY],
  ['REPLICAOF 127.0.0.1 1', NOBODY],
  ['MODULE LIST', NOBODY],
  ['SHUTDOWN NOSAVE', NOBODY],
  ['PUBLISH channel x', NOBODY],
];

for (const [command, allowed] of commands) {
  test(`Redis: ${command}: ${allowed.length === REDIS_USERS.length ? 'everyone' : allowed.join(', ') || 'nobody'}`, () =>
    assertAllowed(command.split(' ') as [string, ...string[]], allowed));
}

test('Redis: a script has the rights of its caller, so the ingest cannot read messages', async () => {
  await assertAllowed(['EVAL', READ_SCRIPT, '1', 'arrival:messages'], ['relay', 'operator']);
  await assertAllowed(['EVAL', "return redis.call('FLUSHALL')", '0'], NOBODY);
});

test('Redis refuses a client without a password or with a wrong one', async () => {
  const { host } = new URL(redis.url);
  const wrong: [url: string, says: RegExp][] = [
    [`redis://${host}`, /NOAUTH/],
    [`redis://reader:wrong@${host}`, /WRONGPASS/],
  ];
  for (const [url, says] of wrong) {
    const stranger = new Redis(url, { lazyConnect: true, retryStrategy: null, disableClientInfo: true });
    const problems: string[] = [];
    stranger.on('error', ({ message }: Error) => problems.push(message));
    await stranger.connect().catch(() => {});
    await assert.rejects(stranger.time(), url);
    assert.match(problems.join(), says);
    stranger.disconnect();
  }
});

async function assertAllowed([name, ...args]: [string, ...string[]], allowed: readonly RedisUser[]) {
  for (const user of REDIS_USERS) {
    const refusal = await connections[user].call(name, ...args).then(
      () => undefined,
      // Other errors of the command do not matter here.
      ({ message }: Error) => (/^NOPERM|can't run this command/.test(message) ? message : undefined),
    );
    if (allowed.includes(user)) assert.equal(refusal, undefined, user);
    else assert.notEqual(refusal, undefined, `${user} is not refused`);
  }
}

/** A topic, the users that may publish to it, and the users that get the messages. */
const topics: [topic: string, writers: BrokerUser[], readers: BrokerUser[]][] = [
  ['messages/user/1', ['relay'], ['subscriber', 'bridge']],
  ['messages/canary/run', ['relay'], ['subscriber', 'bridge']],
  ['messages/probe/1', ['relay'], ['subscriber', 'bridge', 'stack']],
  ['status/relay/relay-1', ['relay'], ['subscriber', 'bridge', 'stack']],
  ['status/subscriber/run-1', ['subscriber'], ['subscriber', 'bridge', 'stack']],
  ['status/ingest/1', [], []],
  ['some/topic', [], []],
  ['$SYS/broker/version', [], []],
];

test('the broker: each user publishes and receives only what it may', async (t) => {
  const got = Object.fromEntries(BROKER_USERS.map((user) => [user, new Set<string>()]));
  for (const user of BROKER_USERS) {
    clients[user].on('message', (topic) => got[user]?.add(topic));
    await clients[user].subscribeAsync(['#', '$SYS/broker/version'], { qos: 1 });
  }
  const assertGot = async (topic: string, readers: BrokerUser[]) => {
    for (const user of readers) await eventually(() => got[user]?.has(topic), `${topic} at ${user}`);
    for (const user of BROKER_USERS) {
      // The broker writes waiting messages before it answers this.
      await clients[user].unsubscribeAsync('nothing');
      assert.equal(got[user]?.has(topic), readers.includes(user), `${topic} at ${user}`);
      got[user]?.clear();
    }
  };
  await t.test("the broker's own figures", () => assertGot('$SYS/broker/version', ['subscriber', 'stack']));
  for (const [topic, writers, readers] of topics) {
    for (const writer of BROKER_USERS) {
      const allowed = writers.includes(writer);
      await t.test(`${writer} to ${topic}: ${allowed ? readers.join(', ') : 'refused'}`, async () => {
        const published = clients[writer].publishAsync(topic, 'x', { qos: 1 });
        if (allowed) await published;
        else await assert.rejects(published, /[Nn]ot authorized/);
        await assertGot(topic, allowed ? readers : []);
      });
    }
  }
});

test('the broker refuses a client without a password or with wrong credentials', async () => {
  const { host } = new URL(broker.url('relay'));
  for (const credentials of ['', 'relay:wrong@', 'nobody:secret@']) {
    const attempt = connectAsync(`mqtt://${credentials}${host}`, { protocolVersion: 5, reconnectPeriod: 0 });
    await assert.rejects(attempt, /Not authorized/, credentials);
  }
});
