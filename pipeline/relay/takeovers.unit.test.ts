import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ending, Takeovers } from './takeovers.ts';

function atClock() {
  let now = 0;
  const takeovers = new Takeovers(() => now);
  /** A connection that ends after some time. Returns whether it was quiet, and the pause behind it. */
  const connection = (ending: Ending, livesMs = 200) => {
    const quietMs = takeovers.began();
    now += livesMs;
    if (quietMs > 0 && livesMs > quietMs) takeovers.kept();
    return [quietMs > 0, takeovers.ended(ending)];
  };
  return connection;
}

test('short connections without a reason: the next one is quiet, and its end shows another client', () => {
  const connection = atClock();
  for (let i = 0; i < 3; i++) assert.deepEqual(connection('unexplained'), [false, undefined]);
  assert.deepEqual(connection('unexplained'), [true, 10_000]);
  // Now each end without a reason is the other client's, and the pauses grow.
  assert.deepEqual(connection('unexplained'), [false, 20_000]);
  assert.deepEqual(connection('unexplained'), [false, 40_000]);
  assert.deepEqual(connection('unexplained'), [false, 60_000]);
  assert.deepEqual(connection('unexplained'), [false, 60_000]);
  assert.deepEqual(connection('unexplained', 100_000), [false, undefined]);
});

test('a message that breaks connections is not another client: the quiet one lasts', () => {
  const connection = atClock();
  for (let i = 0; i < 3; i++) connection('unexplained');
  assert.deepEqual(connection('unexplained', 5000), [true, undefined]);
  assert.deepEqual(connection('unexplained'), [false, undefined]);
});

test('a broker that names the takeover is believed at once', () => {
  const connection = atClock();
  assert.deepEqual(connection('taken over', 1e6), [false, 10_000]);
  assert.deepEqual(connection('taken over'), [false, 20_000]);
  // The pause begins anew after a long connection.
  assert.deepEqual(connection('taken over', 1e6), [false, 10_000]);
});

test('long connections, and those with a reason, are not a sign of another client', () => {
  const connection = atClock();
  for (let i = 0; i < 20; i++) {
    assert.deepEqual(connection('unexplained', 100_000), [false, undefined]);
    assert.deepEqual(connection('explained'), [false, undefined]);
  }
});
