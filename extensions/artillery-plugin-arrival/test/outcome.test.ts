import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { request as secure } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { failureOf } from '../outcome.ts';

/** The error of a request, as Artillery's client passes it on. */
async function errorOf(url: string): Promise<NodeJS.ErrnoException> {
  const [cause] = await once((url.startsWith('https') ? secure : request)(url).end(), 'error', {
    signal: AbortSignal.timeout(30_000),
  }).catch((error) => [error]);
  return Object.assign(new Error(cause.message, { cause }), { code: cause.code });
}

/** A server that calls `does` on the first data of each connection. */
async function serverThat(does: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => does(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { at: `127.0.0.1:${port}`, close: () => server.close() };
}

test('failureOf returns the class of an error, and whether there was a connection', async () => {
  const resets = await serverThat((socket) => socket.resetAndDestroy());
  const talks = await serverThat((socket) => socket.end('no TLS here'));
  try {
    const cases: [url: string, error: string, connected: false | undefined][] = [
      [`http://${resets.at}`, 'reset', undefined],
      [`https://${talks.at}`, 'TLS', undefined],
      ['http://nowhere.invalid', 'name not resolved', false],
      ['http://127.0.0.1:1', 'refused', false],
    ];
    for (const [url, error, connected] of cases) {
      const failure = failureOf(await errorOf(url));
      assert.deepEqual([failure.error, failure.connected], [error, connected], url);
      assert.notEqual(failure.message, '');
    }
  } finally {
    resets.close();
    talks.close();
  }
  const late = Object.assign(new Error('Timeout awaiting response for 10ms'), { code: 'ETIMEDOUT' });
  assert.deepEqual(failureOf(late), { error: 'timeout', message: late.message });
});
