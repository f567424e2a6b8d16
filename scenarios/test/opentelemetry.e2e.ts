/** `npm run test:otel`: k6's OpenTelemetry output, and the pipeline's spans, received by a Collector that the test builds. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { buildGo } from '../../pipeline/setup/steps.mjs';
import { freePort } from '../../pipeline/stack/ports.ts';
import { Supervised } from '../../pipeline/stack/process.ts';
import { eventually, remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { latencyOf, type SpansStage } from '../../reports/contract/run.ts';
import { assertAllArrived, assertPass, Pipeline, ROOT, readRun } from './harness.ts';

const COLLECTOR = join(ROOT, '.stack/collector');
/** The limit, ms, of the difference between means by spans and by stamps on a machine that is very busy. */
const APART_MS = 0.25;
/** A metric in OTLP's JSON, cumulative from the start of the run; 64-bit integers are strings. */
interface Metric {
  name: string;
  unit?: string;
  sum?: { isMonotonic?: boolean; dataPoints: { asDouble: number }[] };
  histogram?: { dataPoints: { count: string; sum: number }[] };
}

let logs: string;
before(async () => {
  await buildGo(join(import.meta.dirname, 'collector'), COLLECTOR, '.');
  logs = await temporaryDirectory();
});
after(async () => {
  if (logs) await remove(logs);
});

/** Starts a Collector of one signal, and returns the lines that it prints. */
async function collect(t: TestContext, signal: 'metrics' | 'traces', protocol: 'grpc' | 'http') {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const config = {
    receivers: { otlp: { protocols: { [protocol]: { endpoint } } } },
    exporters: { lines: {} },
    service: {
      pipelines: { [signal]: { receivers: ['otlp'], exporters: ['lines'] } },
      telemetry: { metrics: { level: 'none' } },
    },
  };
  const exports: string[] = [];
  const args = ['--config', `yaml:${JSON.stringify(config)}`];
  const collector = await Supervised.start(
    { name: 'collector', command: COLLECTOR, args, env: {} },
    { logs, onLine: (_name, line) => line.startsWith('{"resource') && exports.push(line) },
  );
  t.after(() => collector.stop());
  await collector.says(/Everything is ready/, 30_000);
  return { collector, endpoint, exports };
}

const total = (values: number[] = []) => values.reduce((sum, value) => sum + value, 0);

test('`k6 run --out opentelemetry`: the Collector gets the account and every latency', async (t) => {
  const { collector, endpoint, exports } = await collect(t, 'metrics', 'grpc');
  const pipeline = await Pipeline.start();
  t.after(() => pipeline.stop());
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

/** Our pipeline, whose spans go to the Collector. */
async function startTraced(t: TestContext, endpoint: string) {
  process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = `http://${endpoint}/v1/traces`;
  const pipeline = await Pipeline.start().finally(() => {
    delete process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  });
  t.after(() => pipeline.stop());
  return pipeline;
}

/** Single messages for so many seconds, each of them sampled. */
async function eachSampled(duration: number) {
  const PROFILE = join(logs, 'profile.json');
  const phases = [{ duration, arrivalRate: 50 }];
  await writeFile(PROFILE, JSON.stringify({ phases, flows: [{ name: 'direct', targets: 10 }] }));
  return { PROFILE, P99: 60_000, SPANS: 'files', SPANS_ONE_IN: 1 };
}

/** Joins what the Collector got with a run. */
async function joined(dir: string, exports: string[]) {
  const file = join(logs, 'spans.json');
  await writeFile(file, exports.map((line) => `${line}\n`).join(''));
  await execa(join(ROOT, 'k6'), ['x', 'arrival', 'spans', dir, file]);
  return readRun(dir);
}

test('spans that the Collector got are joined with the run afterwards', async (t) => {
  const { endpoint, exports } = await collect(t, 'traces', 'http');
  const pipeline = await startTraced(t, endpoint);
  const { run, exitCode, dir } = await pipeline.run('ramp.js', await eachSampled(2));
  assertPass(run, exitCode);
  assertAllArrived(run);
  assert.equal(run.spans?.traced, 0);
  const spansOf = 4; // a message has two spans of the ingest and two of the relay
  const due = spansOf * run.account.deliveries.arrived;
  await eventually(() => exports.join().split('"spanId"').length > due, `${due} spans`);
  const { spans, latency } = await joined(dir, exports);
  assert.ok(spans);
  assert.deepEqual(
    [spans.count, spans.sampled],
    [spans.sampled, run.account.deliveries.arrived],
    JSON.stringify(spans),
  );
  for (const [i, { name, from, to }] of run.stages.entries()) {
    const bySpans: Partial<SpansStage> | undefined = spans.stages[i];
    assert.deepEqual([bySpans?.from, bySpans?.to], [from, to]);
    const apart = Math.abs((bySpans?.mean ?? Number.NaN) - (latencyOf(latency, name).mean ?? 0));
    assert.ok(apart <= APART_MS, `${name}: ${apart} ms`);
  }
});

test('a Collector that is killed loses spans and nothing else', async (t) => {
  const { collector, endpoint, exports } = await collect(t, 'traces', 'http');
  const pipeline = await startTraced(t, endpoint);
  const running = pipeline.run('ramp.js', await eachSampled(4));
  await eventually(() => exports.length > 0, 'the first spans');
  process.kill(collector.pid, 'SIGKILL');
  const { run, exitCode, dir } = await running;
  assertPass(run, exitCode);
  assertAllArrived(run);
  const { spans } = await joined(dir, exports);
  assert.ok(spans && spans.traced > 0 && spans.traced < spans.sampled, JSON.stringify(spans?.received));
});
