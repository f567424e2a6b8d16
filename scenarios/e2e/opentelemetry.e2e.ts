/** `npm run test:otel`: k6's OpenTelemetry output, received by a Collector that the test builds. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildGo } from '../../pipeline/setup/steps.mjs';
import { freePort } from '../../pipeline/stack/ports.ts';
import { Supervised } from '../../pipeline/stack/process.ts';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertAllArrived, Pipeline, ROOT } from '../test/harness.ts';

const COLLECTOR = join(ROOT, '.stack/collector');
/** A metric in OTLP's JSON, cumulative from the start of the run; 64-bit integers are strings. */
interface Metric {
  name: string;
  unit?: string;
  sum?: { isMonotonic?: boolean; dataPoints: { asDouble: number }[] };
  histogram?: { dataPoints: { count: string; sum: number }[] };
}

let pipeline: Pipeline;
let logs: string;
before(async () => {
  await buildGo(join(import.meta.dirname, 'collector'), COLLECTOR, '.');
  logs = await temporaryDirectory();
  pipeline = await Pipeline.start();
});
after(async () => {
  await pipeline?.stop();
  if (logs) await remove(logs);
});

const total = (values: number[] = []) => values.reduce((sum, value) => sum + value, 0);

test('`k6 run --out opentelemetry`: the Collector gets the account and every latency', async (t) => {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const config = {
    receivers: { otlp: { protocols: { grpc: { endpoint } } } },
    exporters: { lines: {} },
    service: {
      pipelines: { metrics: { receivers: ['otlp'], exporters: ['lines'] } },
      telemetry: { metrics: { level: 'none' } },
    },
  };
  const exports: string[] = [];
  const args = ['--config', `yaml:${JSON.stringify(config)}`];
  const collector = await Supervised.start(
    { name: 'collector', command: COLLECTOR, args, env: {} },
    { logs, onLine: (_name, line) => line.startsWith('{"resourceMetrics"') && exports.push(line) },
  );
  t.after(() => collector.stop());
  await collector.says(/Everything is ready/, 30_000);

  const { run, text } = await pipeline.run(
    'smoke.js',
    { DURATION: 2, RATE: 50 },
    {
      K6_OUT: 'opentelemetry',
      K6_OTEL_GRPC_EXPORTER_ENDPOINT: endpoint,
      K6_OTEL_GRPC_EXPORTER_INSECURE: 'true',
    },
  );
  assertAllArrived(run);
  await collector.stop();
  const metrics = new Map<string, Metric>();
  for (const line of exports) {
    for (const { scopeMetrics } of JSON.parse(line).resourceMetrics)
      for (const scope of scopeMetrics)
        for (const metric of scope.metrics as Metric[]) metrics.set(metric.name, metric);
  }
  const counted = (name: string) => {
    const { sum } = metrics.get(name) ?? {};
    assert.ok(sum?.isMonotonic, `${name}: ${[...metrics.keys()]}\n${text}`);
    return total(sum.dataPoints.map(({ asDouble }) => asDouble));
  };
  const { account, latency } = run;
  for (const name of ['scheduled', 'arrived', 'lost', 'duplicates', 'rejected'] as const)
    assert.equal(counted(`arrival_${name}`), account[name], name);
  assert.equal(counted('http_reqs'), account.requests.sent);
  const { unit, histogram } = metrics.get('arrival_latency') ?? {};
  assert.equal(unit, 'ms');
  const points = histogram?.dataPoints ?? [];
  assert.equal(total(points.map(({ count }) => Number(count))), account.deliveries.arrived);
  const mean = total(points.map(({ sum }) => sum)) / account.deliveries.arrived;
  assert.ok(Math.abs(mean / (latency.arrival.mean as number) - 1) < 0.01, `${mean} ms`);
});
