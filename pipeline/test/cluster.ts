import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { REDIS_USERS, type RedisUser, secrets, urls } from '../stack/access.ts';
import { freePort } from '../stack/ports.ts';
import { prepareRedis } from '../stack/services.ts';
import { eventually, Service, temporaryDirectory } from './services.ts';

const SLOTS = 16_384;
const COUNT = 3;

/**
 * A private Redis Cluster of three nodes with the stack's users. `nodes` are connections with all rights.
 * Call its `remove()` in the test's `after`.
 */
export async function startCluster(): Promise<{
  url(user: RedisUser): string;
  nodes: Redis[];
  remove(): Promise<void>;
}> {
  const passwords = secrets(REDIS_USERS);
  const services: Service[] = [];
  const nodes: Redis[] = [];
  const meet: [port: number, bus: number][] = [];
  for (let n = 0; n < COUNT; n++) {
    // The cluster bus has its own port.
    const [port, bus] = [await freePort(), await freePort()];
    meet.push([port, bus]);
    const prepare = async (dir: string) => {
      const launch = await prepareRedis(dir, port, passwords);
      await appendFile(join(dir, 'redis.conf'), `cluster-enabled yes\ncluster-port ${bus}\n`);
      await appendFile(join(dir, 'redis.acl'), 'user admin reset on >secret ~* &* +@all\n');
      return launch;
    };
    const service = new Service(await temporaryDirectory(), prepare, /Ready to accept connections/);
    services.push(service);
    await service.start();
    const node = new Redis(port, '127.0.0.1', { username: 'admin', password: 'secret' });
    nodes.push(node);
    await node.call('CLUSTER', 'SET-CONFIG-EPOCH', String(n + 1));
    const share = Math.ceil(SLOTS / COUNT);
    await node.cluster('ADDSLOTSRANGE', n * share, Math.min((n + 1) * share, SLOTS) - 1);
  }
  for (const [port, bus] of meet.slice(1)) {
    await nodes[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(bus));
  }
  const isWhole = (info: unknown) => /state:ok[\s\S]*known_nodes:3/.test(String(info));
  await eventually(
    async () => (await Promise.all(nodes.map((node) => node.cluster('INFO')))).every(isWhole),
    'a complete cluster',
  );
  const addresses = meet.map(([port]) => `127.0.0.1:${port}`).join(',');
  const byUser = urls(passwords, `redis://${addresses}`);
  return {
    url: (user) => byUser[user],
    nodes,
    async remove() {
      for (const node of nodes) node.disconnect();
      for (const service of services) await service.remove();
    },
  };
}
