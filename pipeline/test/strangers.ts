/** Servers that do not behave as the one that somebody wants to reach. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { generate, parser } from 'mqtt-packet';

export type Treatment = (socket: Socket) => void;

/** The port of a server that treats each connection so. */
export async function serve(t: TestContext, treat: Treatment): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => {}));
    treat(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Listens with the shortest backlog, says where, and never accepts: its event loop waits for good. */
const DEAF = `
  const server = require('node:net').createServer().listen(0, '127.0.0.1', 1, () => {
    require('node:fs').writeSync(1, String(server.address().port) + '\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
/** ms in which a connection over loopback is there, as the kernel alone answers. */
const LOOPBACK_MS = 1000;

/** A port that swallows packets, as the address of a pod that is gone: its backlog is full, so the kernel drops SYNs. */
export async function swallow(t: TestContext): Promise<{ port: number; end: () => Promise<void> }> {
  const child = spawn(process.execPath, ['-e', DEAF], { stdio: ['ignore', 'pipe', 'inherit'] });
  const open: Socket[] = [];
  const ended = once(child, 'close');
  const end = async () => {
    child.kill('SIGKILL');
    for (const socket of open) socket.destroy();
    await ended;
  };
  t.after(end);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line);
  for (let isFull = false; !isFull; ) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    open.push(socket);
    isFull = await Promise.race([
      once(socket, 'connect').then(() => false),
      new Promise<boolean>((resolve) => setTimeout(resolve, LOOPBACK_MS, true)),
    ]);
  }
  return { port, end };
}

export const closes: Treatment = (socket) => socket.once('data', () => socket.destroy());
export const resets: Treatment = (socket) => socket.once('data', () => socket.resetAndDestroy());
export const isSilent: Treatment = () => {};
export const speaksHttp: Treatment = (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
/** A broker that takes connections and messages, and answers SUBSCRIBE so. */
export const subscribes =
  (treat: (socket: Socket, id: number) => void): Treatment =>
  (socket) => {
    const packets = parser({ protocolVersion: 5 });
    packets.on('packet', ({ cmd, messageId: id = 0 }) => {
      if (cmd === 'connect') socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
      else if (cmd === 'publish') socket.write(generate({ cmd: 'puback', messageId: id }));
      else if (cmd === 'subscribe') treat(socket, id);
    });
    socket.on('data', (bytes) => packets.parse(bytes));
  };
/** Answers CONNECT so (MQTT 5, 3.2). */
export const refuses =
  (code: number): Treatment =>
  (socket) =>
    socket.once('data', () => socket.end(Buffer.from([0x20, 3, 0, code, 0])));
