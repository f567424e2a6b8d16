import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { INGEST_FIGURES, ingestSeconds } from '../../pipeline/ingest/counters.ts';
import { RELAY_FIGURES, relayDurations } from '../../pipeline/relay/options.ts';
import { COUNTS } from '../contract/run.ts';

interface Panel {
  id: number;
  type: string;
  title: string;
  description: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { refId: string; expr: string; datasource: { uid: string } }[];
}

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
/** The dashboard variable that selects the Prometheus server. */
const SOURCE = `\${datasource}`;
const dashboard = JSON.parse(read('../grafana/arrival.json'));
const panels: Panel[] = dashboard.panels;

/** The Prometheus names of the metrics of k6 and the pipeline. */
function known(): Set<string> {
  const trends = ['arrival_latency', 'http_req_duration'];
  const counters = [
    ...COUNTS.map((name) => `arrival_${name}`),
    ...['arrival_requests_failed', 'arrival_invalid', 'http_reqs'],
  ];
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const each of [ingestSeconds(), ...Object.values(relayDurations())])
    registry.registerMetric(each.metric);
  return new Set([
    ...trends.flatMap((name) => ['p50', 'p95', 'p99', 'max'].map((stat) => `k6_${name}_${stat}`)),
    ...counters.map((name) => `k6_${name}_total`),
    ...Object.values(INGEST_FIGURES).map(({ metric }) => `arrival_ingest_${metric}`),
    ...Object.values(RELAY_FIGURES).map(({ metric }) => `arrival_relay_${metric}`),
    ...['redis_up', 'mqtt_up', 'problems', 'queue_messages', 'clock_bound_seconds'].map(
      (name) => `arrival_${name}`,
    ),
    ...registry.getMetricsAsArray().flatMap(({ name }) => [name, `${name}_bucket`]),
  ]);
}

const used = (expr: string): string[] => expr.match(/\b(?:k6|arrival|process|nodejs)_\w+/g) ?? [];

test('every metric of the dashboard exists', () => {
  const names = known();
  assert.ok(names.has('k6_arrival_lost_total'), 'the account');
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const [name = '', ...others] = used(expr);
      assert.equal(others.length, 0, `${title}: ${expr}`);
      assert.ok(names.has(name), `${title}: ${name} is not a metric`);
    }
  }
});

// An alert on an unknown metric never fires.
test('every metric of the alert rules exists', () => {
  const names = known();
  const [{ rules }] = parse(read('../grafana/alerts.yml')).groups;
  for (const { alert, expr } of rules as { alert: string; expr: string }[]) {
    assert.ok(used(expr).length > 0, alert);
    for (const name of used(expr)) assert.ok(names.has(name), `${alert}: ${name} is not a metric`);
  }
});

test('the arrival latency links to the traces of the shown time range', () => {
  const [{ url }] = dashboard.panels[0].fieldConfig.defaults.links;
  const panes = JSON.parse(new URL(url, 'http://grafana').searchParams.get('panes') as string);
  const variable = dashboard.templating.list.find(({ query }: { query: string }) => query === 'tempo');
  assert.equal(panes.traces.datasource, `\${${variable.name}}`);
  assert.deepEqual(panes.traces.range, { from: `\${__from}`, to: `\${__to}` });
  const [, service] = panes.traces.queries[0].query.match(/service\.name = "(.*)"/);
  assert.ok(read('../../extensions/k6/internal/traces/spans.go').includes(`"${service}"`));
});

test('every panel has a free place, a description and the selected data source', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  assert.ok(dashboard.templating.list.some(({ name }: { name: string }) => name === 'datasource'));
  const taken = new Set<string>();
  for (const { title, description, gridPos, targets } of panels) {
    assert.ok(title && description, title);
    assert.ok(targets.length > 0 && targets.every(({ datasource }) => datasource.uid === SOURCE), title);
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    const { x, y, w, h } = gridPos;
    assert.ok(x >= 0 && x + w <= 24, title);
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        assert.ok(!taken.has(`${column},${row}`), `${title} overlaps another panel`);
        taken.add(`${column},${row}`);
      }
    }
  }
});
