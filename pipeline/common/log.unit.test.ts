import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { type LogOptions, levelOf, openDestination, openLog, readable } from './log.ts';

/** The text that `act` logs. */
function written(options: LogOptions, act: (log: ReturnType<typeof openLog>) => void): string {
  let text = '';
  const write = (chunk: string) => {
    text += chunk;
  };
  act(openLog('info', { ...options, destination: { write } }));
  return text;
}

test('a log without a terminal is JSON lines', () => {
  const line = written({ isTty: false, name: 'relay-1' }, (log) =>
    log.warn({ held: 3 }, 'the broker is away'),
  );
  const { level, name, msg, held, time } = JSON.parse(line);
  assert.deepEqual(
    { level, name, msg, held },
    { level: 40, name: 'relay-1', msg: 'the broker is away', held: 3 },
  );
  assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.equal(levelOf(line), 40);
  assert.match(readable(line), /^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: the broker is away\n {4}held: 3$/);
});

test('lines of other programs stay unchanged', () => {
  for (const line of ['1795261267: mosquitto version 2.0.11 running', '{"a', '{}', '']) {
    assert.equal(levelOf(line), undefined);
    assert.equal(readable(line), line);
  }
});

// Regression: a client's id, or a server's answer, reached the terminal unescaped.
test('a readable line has no control characters', () => {
  const line = written({ isTty: false }, (log) => log.warn({ reason: '\u009b2J' }, 'said \u001b[31mred'));
  for (const shown of [readable(line), readable('New client \u001b]0;x\u0007')])
    assert.doesNotMatch(shown.replaceAll('\n', ''), /\p{Cc}/u);
  assert.match(readable(line), /said .*red\n {4}reason: "\\u009b2J"$/);
});

test('a log redacts secrets in settings, errors, fields and text', () => {
  const settings = {
    INGEST_TOKEN: 'to"ken-of-the-test',
    REDIS_URL: 'redis://relay:hunter%2B2@127.0.0.1:1/0',
    LOG_LEVEL: 'info',
  };
  const line = written({ isTty: false, settings }, (log) => {
    log.error(new Error(`refused: ${settings.REDIS_URL}, ${settings.INGEST_TOKEN}, hunter+2`));
    log.info({ password: 'hunter3', request: { headers: { authorization: 'Bearer hunter4' } } });
    log.info('mqtt://user:hunter5@host said no to Authorization: Bearer hunter6-and-more');
  });
  assert.doesNotMatch(line, /hunter|ken-of-the-test/);
  assert.match(line, /redis:\/\/relay:\[redacted\]@127\.0\.0\.1:1/);
  for (const each of line.trim().split('\n')) JSON.parse(each);
});

const FULL = '/dev/full';
// Regression: the first line that the disk did not take ended an ingest or a relay whose output is a file.
test('a log that cannot be written throws nothing', { skip: !existsSync(FULL) && `no ${FULL}` }, () => {
  const fd = openSync(FULL, 'w');
  const log = openLog('info', { isTty: false, destination: openDestination(fd) });
  for (let n = 0; n < 3; n++) log.info('a line');
  closeSync(fd);
});
