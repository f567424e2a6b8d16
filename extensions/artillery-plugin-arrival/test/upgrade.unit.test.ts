import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { refuseUpgrades, UPGRADED } from '../upgrade.ts';

const server = createServer((socket) => {
  socket.once('data', () =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n'),
  );
  socket.on('error', () => {});
});
before(async () => {
  refuseUpgrades();
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
after(() => server.close());

const ask = (headers: Record<string, string>) =>
  get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, headers, agent: false });

test('a protocol that nobody asked for is an error', async () => {
  const request = ask({}).once('upgrade', () => {});
  const [error] = await once(request, 'error');
  assert.equal(error.code, UPGRADED);
});

// Regression: a WebSocket that a hook of the script opened was cut off.
test('a protocol that the request asked for is left alone', async () => {
  const request = ask({ Connection: 'Upgrade', Upgrade: 'other' });
  const [answer, socket] = await once(request, 'upgrade');
  assert.equal(answer.statusCode, 101);
  assert.equal(socket.destroyed, false);
  socket.destroy();
});
