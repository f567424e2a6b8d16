import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { type Events, InFlight } from '../in-flight.ts';

/** @param timeout the time-out of a request, s */
function follow(timeout: number) {
  const lines: object[] = [];
  const events = new EventEmitter();
  const inFlight = new InFlight(timeout, (line) => lines.push(line));
  inFlight.watch(events as unknown as Events);
  const send = (uuid: string) => events.emit('trace:http:request', { uuid }, uuid);
  /** The lines without their times. */
  const reported = () => lines.map((line) => ({ ...line, at_us: undefined }));
  return { inFlight, send, reported };
}

test('a request is sent once and settled once, whatever follows', () => {
  const { inFlight, send, reported } = follow(10);
  inFlight.add(7, { uuid: 'a' });
  assert.deepEqual([inFlight.settled, inFlight.awaited], [false, false]);
  send('a');
  send('a'); // a redirect
  assert.deepEqual([inFlight.settled, inFlight.awaited], [false, true]);
  inFlight.settle('a', { status: 202 });
  inFlight.settle('a', { error: 'timeout' });
  send('a');
  assert.deepEqual([inFlight.settled, inFlight.awaited], [true, false]);
  assert.deepEqual(reported(), [
    { sent: 7, at_us: undefined },
    { settled: 7, at_us: undefined, status: 202 },
  ]);
});

test('a request that was never sent has no outcome to report', () => {
  const { inFlight, reported } = follow(10);
  inFlight.add(7, { uuid: 'a' });
  inFlight.settle('a', { error: 'refused' });
  assert.deepEqual([inFlight.settled, inFlight.lastActivity, reported()], [true, 0, []]);
});

// Regression: the report asked for a lower rate.
test("a request that Artillery's client does not take says why it was not sent", () => {
  const { inFlight, reported } = follow(10);
  inFlight.add(7, { uuid: 'a' });
  for (const _ of ['error', 'catch']) // Artillery calls it twice
    inFlight.onError(new Error('GET has no body'), { uuid: 'a' }, {}, {} as Events, () => {});
  assert.deepEqual(reported(), [{ unsent: 7, message: 'GET has no body', at_us: undefined }]);
});

test('a request that is never settled is not awaited for ever', () => {
  const { inFlight, send } = follow(-3); // more than the grace
  inFlight.add(7, { uuid: 'a' });
  send('a');
  assert.deepEqual([inFlight.settled, inFlight.awaited], [false, false]);
});
