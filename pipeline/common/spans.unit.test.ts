import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSpans, type Spans } from './spans.ts';

const ID = '0af7651916cd43dd8448eb211c80319c';
const SAMPLED = `00-${ID}-b7ad6b7169203331-01`;

/** @param warnings gets what is logged */
async function open(env: Record<string, string>, warnings: string[] = []): Promise<Spans | undefined> {
  const log = { info() {}, warn: (text: string) => warnings.push(text) };
  Object.assign(process.env, env);
  try {
    return await openSpans('arrival-ingest', 'ingest-1', log as never);
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
  }
}

test('without a collector there are no spans', async () => {
  assert.equal(await open({}), undefined);
  assert.equal(await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h', OTEL_SDK_DISABLED: 'true' }), undefined);
});

test('a sampled trace goes on below the producer; nothing waits for a collector that is away', async () => {
  const warnings: string[] = [];
  // Nobody listens on port 1.
  const spans = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, warnings);
  assert.ok(spans);
  const from = spans.now();
  assert.equal(spans.request(SAMPLED.replace(/01$/, '00'), from, 1), undefined);
  const request = spans.request(`${SAMPLED} vendor=1,other=2`, from, 10);
  assert.match(
    request?.trace ?? '',
    new RegExp(`^00-${ID}-(?!b7ad6b7169203331)[0-9a-f]{16}-01 vendor=1,other=2$`),
  );
  const message = spans.message(request?.trace ?? '', from, 'messages/user/1', 'r.1.7');
  assert.match(message?.trace ?? '', new RegExp(`^00-${ID}-[0-9a-f]{16}-01 vendor`));
  assert.notEqual(message?.trace, request?.trace);
  request?.end();
  message?.end('refused');
  await spans.close();
});

// Regression: the SDK took its default for them, localhost:4318, or ignored them.
const wrong: [env: Record<string, string>, says: RegExp][] = [
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'foo' },
    /^OTEL_EXPORTER_OTLP_ENDPOINT is "foo"; allowed: .*http:\/\/host:4318/,
  ],
  [
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'localhost:4318' },
    /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is "localhost:4318"/,
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    /_PROTOCOL is "grpc"; allowed: http\/protobuf/,
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
    /_TRACES_PROTOCOL is "http\/json"/,
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h', OTEL_TRACES_EXPORTER: 'console' },
    /OTEL_TRACES_EXPORTER is "console"/,
  ],
];
for (const [env, says] of wrong) {
  test(`refused: ${Object.entries(env).at(-1)}`, async () => {
    await assert.rejects(open(env), { name: 'ConfigError', message: says });
  });
}

test('OTEL_TRACES_EXPORTER=none: no spans', async () => {
  assert.equal(await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'foo', OTEL_TRACES_EXPORTER: 'none' }), undefined);
});
