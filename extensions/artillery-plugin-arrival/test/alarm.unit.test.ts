import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Alarm } from '../alarm.ts';
import { monotonic } from '../thread.ts';

test('an alarm rings in order of time, never early, whatever the order of the calls', async () => {
  const alarm = new Alarm();
  try {
    const now = monotonic();
    const rung: number[] = [];
    // Milliseconds ahead, enough to set all before the first rings.
    const times = [909, 903, 903.2, 920, 901, 903.1, 914];
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
    await alarm.at(now); // a past time rings at once
  } finally {
    await alarm.end();
  }
});

test('an alarm rings for a time that passes while it is being set', async () => {
  const alarm = new Alarm();
  try {
    for (let i = 0; i < 5000; i++) await alarm.at(monotonic() + (i % 50));
  } finally {
    await alarm.end();
  }
});
