import type { Server } from 'node:net';
import type { Trouble } from './trouble.ts';

/** Files that a process opens beside its clients' connections: its servers, its logs, name look-ups, a cluster's nodes. */
const OWN_FILES = 128;

/** How many files this process may have open at once, connections among them; undefined: the system sets no limit. */
export function openFilesLimit(): number | undefined {
  // Else each open socket's addresses are looked up by name, and the process waits for that.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const limit = userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : undefined;
}

/** How many of `wanted` connections leave the process the files that it needs itself. */
export function affordableConnections(wanted: number, limit = openFilesLimit()): number {
  if (limit === undefined) return wanted;
  return Math.min(wanted, Math.max(limit - OWN_FILES, Math.floor(limit / 2)));
}

/** ms between looks whether there is room again, and the share of the connections from which on there is. */
const LOOK_MS = 1000;
const ROOM = 0.9;

/**
 * Closes connections of clients above so many, and says so by `trouble`. A process without file descriptors lives on: the kernel keeps
 * what it cannot accept.
 */
export function limitConnections(server: Server, most: number, trouble?: Trouble): void {
  server.maxConnections = most;
  // An accept that finds no free descriptor is reported here, and the next one may succeed.
  server.on('error', () => {});
  if (trouble === undefined) return;
  let looking: NodeJS.Timeout | undefined;
  const look = () =>
    server.getConnections((_error, open = 0) => {
      if (open > ROOM * most) return;
      clearInterval(looking);
      looking = undefined;
      trouble.end();
    });
  server.on('drop', () => {
    trouble.begin({
      problem: `${most} connections are open, which is the limit: it closes others`,
      kind: 'shared',
    });
    looking ??= setInterval(look, LOOK_MS).unref();
  });
}
