import assert from 'node:assert/strict';
import { PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Clock } from './clock.ts';
import { startTelemetry, type TelemetryData } from './telemetry.ts';

/** Collects all garbage; resolves when observers have been told. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const told = Promise.withResolvers<void>();
  const observer = new PerformanceObserver(() => told.resolve());
  observer.observe({ entryTypes: ['gc'] });
  runInNewContext('gc')();
  await told.promise;
  observer.disconnect();
}

test('what is left of the heap is told from the first full collection on, and garbage is not in it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const said: TelemetryData[] = [];
  const queue = {
    ready: true,
    record: async (_process: string, _at: number, data: TelemetryData) => void said.push(data),
  };
  const stop = startTelemetry({
    queue,
    clock: new Clock(async () => 0),
    process: 'x-1',
    figures: {},
    read: () => ({}),
  });
  t.after(stop);
  t.mock.timers.tick(1000);
  const held = Array.from({ length: 50 }, () => new Array(125_000).fill(0.5));
  await collectGarbage();
  t.mock.timers.tick(1000);
  held.length = 0;
  await collectGarbage();
  t.mock.timers.tick(1000);
  const live = said.map(({ gauges }) => gauges?.live_heap_mb);
  assert.equal(live[0], undefined);
  assert.ok((live[1] as number) > 50 && (live[2] as number) < (live[1] as number) - 45, String(live));
});
