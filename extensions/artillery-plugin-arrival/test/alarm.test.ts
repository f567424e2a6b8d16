import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Alarm } from '../alarm.ts';
import { monotonic } from '../thread.ts';

test('an alarm rings for each time in their order, whatever the order they were set in, and never before', async () => {
  const alarm = new Alarm();
  try {
    const now = monotonic();
    const rung: number[] = [];
    const times = [9, 3, 3.2, -5, 20, 1, 3.1, 14];
    await Promise.all(
      times.map(async (ms) => {
        await alarm.at(now + ms * 1000);
        assert.ok(monotonic() >= now + ms * 1000, `${ms} ms rang early`);
        rung.push(ms);
      }),
    );
    assert.deepEqual(
      rung,
      times.toSorted((a, b) => a - b),
    );
    const again = monotonic() + 2000;
    await alarm.at(again);
    assert.ok(monotonic() >= again, 'after all have rung it can be set again');
  } finally {
    await alarm.end();
  }
});
