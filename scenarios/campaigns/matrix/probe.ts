/**
 * Measures a bare network from the generator: `node scenarios/campaigns/matrix/probe.ts <host> <port>` connects to the server of
 * baseline.ts and prints figures as JSON.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { isEntry } from '../../../pipeline/shared/entry.ts';

/** The purpose of a connection, its first byte. */
export const PROBE = { echo: 1, up: 2, down: 3 } as const;

const ROUND_TRIPS = 20;
/** How long TCP's slow start is left out after the first byte, and how long the measurement takes after that, ms. */
const [PACE_MS, COUNT_MS] = [500, 700];

/** The rate of a socket after TCP's slow start, Mbit/s. */
export async function rateOf(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    let began: number | undefined;
    let from: number | undefined;
    let bytes = 0;
    const count = (chunk: Buffer) => {
      const now = performance.now();
      began ??= now;
      if (now - began < PACE_MS) return;
      // The first chunk came before.
      if (from === undefined) from = now;
      else bytes += chunk.length;
      if (now - from < COUNT_MS) return;
      socket.off('data', count);
      resolve((bytes * 8) / 1000 / (now - from));
      socket.resume();
    };
    socket.on('data', count);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection broke')));
  });
}

/** Writes as fast as possible until the connection ends. */
export function send(socket: Socket): void {
  const chunk = Buffer.alloc(64 * 1024);
  const more = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

async function main([host = '', port = '']: string[]): Promise<void> {
  const open = async (what: number): Promise<Socket> => {
    const socket = connect({ host, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    socket.write(Buffer.of(what));
    return socket;
  };
  const echo = await open(PROBE.echo);
  await once(echo, 'data');
  const trips: number[] = [];
  for (let i = 0; i < ROUND_TRIPS; i++) {
    const sent = performance.now();
    echo.write('x');
    await once(echo, 'data');
    trips.push(performance.now() - sent);
  }
  echo.destroy();
  trips.sort((a, b) => a - b);

  const up = await open(PROBE.up);
  send(up);
  const [answer] = await once(up, 'data');
  up.destroy();
  const down = await open(PROBE.down);
  const downMbit = await rateOf(down);
  down.destroy();
  console.log(
    JSON.stringify({
      rtt_ms: trips[Math.floor(trips.length / 2)],
      up_mbit: JSON.parse(String(answer)),
      down_mbit: downMbit,
    }),
  );
}

if (isEntry(import.meta)) {
  main(process.argv.slice(2)).catch((error: Error) => {
    console.error(error.message);
    process.exit(1);
  });
}
