import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TObject, Type } from '@sinclair/typebox';
import {
  ConfigError,
  IngestConfig,
  RelayConfig,
  RunConfig,
  readConfig,
  StackConfig,
  withoutPassword,
} from './config.ts';

const relay = { PROCESS_NAME: 'relay-1', REDIS_URL: 'redis://localhost', MQTT_URL: 'mqtt://localhost' };

test('defaults replace unset and empty settings', () => {
  const config = readConfig(StackConfig, { RELAY_WORKERS: '2', MQTT_PORT: '', HOME: '/nowhere' });
  assert.equal(config.RELAY_WORKERS, 2);
  assert.equal(config.MQTT_PORT, 11883);
  assert.equal(config.REDIS_URL, undefined);
  assert.ok(!('HOME' in config));
  const { STAMPS, TLS } = readConfig(StackConfig, { STAMPS: 'false', TLS: 'true' });
  assert.deepEqual([STAMPS, TLS], [false, true]);
  assert.deepEqual(readConfig(Type.Object({ SECONDS: Type.Number() }), { SECONDS: '0.5' }), { SECONDS: 0.5 });
});

const wrong: [name: string, schema: TObject, env: NodeJS.ProcessEnv, says: RegExp][] = [
  [
    'a word as a number',
    StackConfig,
    { INGEST_PORT: 'abc' },
    /^INGEST_PORT is "abc"; allowed: 0 to 65535, the ingest's port/,
  ],
  // Regression: it was 0.
  ['a space as a number', StackConfig, { INGEST_PORT: ' ' }, /^INGEST_PORT is " "; allowed: 0 to 65535/],
  ['a fraction', StackConfig, { RELAY_WORKERS: '1.5' }, /^RELAY_WORKERS is "1.5"; allowed: 0 to 64, /],
  ['a word as a boolean', StackConfig, { TLS: 'yes' }, /^TLS is "yes"; allowed: true: all servers /],
  [
    'out of range',
    StackConfig,
    { RELAY_WORKERS: '65' },
    /^RELAY_WORKERS is "65"; allowed: 0 to 64, relay processes/,
  ],
  ['above its range', RelayConfig, { ...relay, MQTT_QOS: '2' }, /^MQTT_QOS is "2"; allowed: 0 to 1, 0 or 1$/],
  ['not in the list', StackConfig, { LOG_LEVEL: 'loud' }, /^LOG_LEVEL is "loud"; allowed: debug, info/],
  [
    'a wrong scheme',
    StackConfig,
    { MQTT_URL: 'http://x' },
    /^MQTT_URL is "http:\/\/x": .*"http"; allowed: mqtt:\/\/user/,
  ],
  [
    'an unescaped % in a password',
    StackConfig,
    { REDIS_URL: 'redis://u:50%off@host' },
    /^REDIS_URL is "redis:\/\/u:\*\*\*@host": .*%25$/,
  ],
  [
    'larger than an MQTT packet',
    IngestConfig,
    { ...relay, BODY_LIMIT: '268435456' },
    /^BODY_LIMIT is "268435456"; allowed: 64 to 268434431, bytes/,
  ],
  [
    'an invalid port',
    RelayConfig,
    { ...relay, MQTT_URL: 'mqtt://u:secret@host:99999' },
    /^MQTT_URL is "mqtt:\/\/u:\*\*\*@host:99999": .*port/,
  ],
  ['a WebSocket for relays', RelayConfig, { ...relay, MQTT_URL: 'ws://host' }, /^MQTT_URL is .*"ws"/],
  // Regression: the line break was taken for a part of the host.
  [
    'a line break in an address',
    RelayConfig,
    { ...relay, REDIS_URL: 'redis://host\n' },
    /^REDIS_URL is "redis:\/\/host\\n": .*%0A$/,
  ],
  ['a query of the ingest', RunConfig, { INGEST_URL: 'http://host?x=1' }, /^INGEST_URL .*INGEST_PATH/],
  // Regression: the pipeline started, and its ingest took the token for a comment in its file.
  [
    'a token that is a comment in a file',
    StackConfig,
    { INGEST_TOKEN: '#token-of-the-test' },
    /^INGEST_TOKEN is 18 characters that do not fit; allowed: .*# not first$/,
  ],
  ['missing', RelayConfig, { ...relay, MQTT_URL: '' }, /^MQTT_URL is not set; allowed: mqtt:\/\/user/],
];
for (const [name, schema, env, says] of wrong) {
  test(`a wrong setting is reported in one line: ${name}`, () => {
    assert.throws(
      () => readConfig(schema, env),
      (error: Error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, says);
        assert.ok(!error.message.includes('\n'));
        return true;
      },
    );
  });
}

test('errors show no secret', () => {
  assert.throws(
    () => readConfig(StackConfig, { REDIS_URL: 'http://default:secret@host' }),
    (error: Error) => !error.message.includes('secret') && error.message.includes('default:***@host'),
  );
  assert.throws(
    () => readConfig(IngestConfig, { ...relay, INGEST_TOKEN: 'secret' }),
    (error: Error) => !error.message.includes('secret'),
  );
  assert.equal(withoutPassword('redis://default:a@b@host:1/0'), 'redis://default:***@host:1/0');
  // Regression: an address without a scheme, or a user with a slash, showed its password.
  assert.throws(
    () => readConfig(StackConfig, { REDIS_URL: 'user:secret@redis:6379' }),
    /^ConfigError: REDIS_URL is "\*\*\*@redis:6379": .*scheme/,
  );
  assert.equal(withoutPassword('redis://a/b:secret@host'), '***@host');
  assert.equal(withoutPassword('redis://user@host:1'), 'redis://user@host:1');
  assert.equal(withoutPassword('redis://one:7001,two:7002/0'), 'redis://one:7001,two:7002/0');
});
