import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ExportedSpans } from './exported-spans.ts';

const SAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

// Regression: a stack each second.
test('lost spans are a line when it begins and one when it ends', async (t) => {
  let [status, exports] = [400, 0];
  const collector = createServer((request, response) => {
    exports++;
    request.resume();
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  t.after(() => collector.close());
  const { port } = collector.address() as AddressInfo;
  const lines: string[] = [];
  const log = { info: (text: string) => lines.push(text), warn: (text: string) => lines.push(text) };
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${port}`;
  const spans = new ExportedSpans('arrival-ingest', 'ingest-1', log as never);
  const exportOne = async () => {
    const before = exports;
    spans.request(SAMPLED, spans.now(), 1)?.end();
    while (exports === before) await once(collector, 'request');
  };
  await exportOne();
  await exportOne();
  status = 200;
  await exportOne();
  await spans.close();
  collector.closeAllConnections();
  assert.match(lines[0] ?? '', /^spans are lost: HTTP 400: Bad Request$/);
  assert.match(lines[1] ?? '', /^spans are exported again, after/);
  assert.equal(lines.length, 2);
});

// Regression: a whole ingest was a ms ahead of its relays. Node reads the two clocks of `timeOrigin` one after the other.
test('spans have the wall clock, whatever `timeOrigin` is', async (t) => {
  const { timeOrigin } = performance;
  t.mock.getter(Object.getPrototypeOf(performance), 'timeOrigin', () => timeOrigin + 5);
  const spans = new ExportedSpans('arrival-ingest', 'ingest-1', console);
  t.after(() => spans.close());
  const before = Date.now();
  const now = spans.now();
  const after = Date.now() + 1;
  assert.ok(before - 0.05 < now && now < after + 0.05, `${before} < ${now} < ${after}`);
});
