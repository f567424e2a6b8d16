import assert from 'node:assert/strict';
import { PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Clock } from '../shared/clock.ts';
import { startTelemetry, type TelemetryData } from './telemetry.ts';

/** Collects all garbage, and resolves when observers have run. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const observed = Promise.withResolvers<void>();
  const observer = new PerformanceObserver(() => observed.resolve());
  observer.observe({ entryTypes: ['gc'] });
  runInNewContext('gc')();
  await observed.promise;
  observer.disconnect();
}

function recording() {
  const recorded: TelemetryData[] = [];
  const store = {
    ready: true,
    record: async (_process: string, _at: number, data: TelemetryData) => void recorded.push(data),
  };
  const clock = new Clock(async () => 0);
  const stop = startTelemetry({ store, clock, process: 'x-1', figures: {}, read: () => ({}) });
  return { recorded, stop };
}

// Regression: without a file descriptor to open /proc with, the timer's error ended ingest and relay.
test('a figure that cannot be read is left out', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  t.mock.method(process.memoryUsage, 'rss', () => {
    throw new Error('EMFILE: too many open files, uv_resident_set_memory');
  });
  const { recorded, stop } = recording();
  t.after(stop);
  t.mock.timers.tick(1000);
  assert.equal(recorded.length, 1);
  assert.equal(recorded[0]?.rss_mb, undefined);
  assert.ok((recorded[0]?.gauges?.external_mb as number) >= 0);
});

test('the live heap is reported after the first full garbage collection', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { recorded, stop } = recording();
  t.after(stop);
  t.mock.timers.tick(1000);
  const held = Array.from({ length: 50 }, () => new Array(125_000).fill(0.5));
  await collectGarbage();
  t.mock.timers.tick(1000);
  held.length = 0;
  await collectGarbage();
  t.mock.timers.tick(1000);
  const live = recorded.map(({ gauges }) => gauges?.live_heap_mb);
  assert.equal(live[0], undefined);
  assert.ok((live[1] as number) > 50 && (live[2] as number) < (live[1] as number) - 45, String(live));
});
