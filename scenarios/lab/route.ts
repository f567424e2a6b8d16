import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type StackFile, writeStackFile } from '../../pipeline/stack/file.ts';
import type { Toxiproxy } from '../../pipeline/test/toxiproxy.ts';
import { type Lab, PIPELINE, PIPELINE_DIRECT } from './lab.ts';
import { type Plan, wantsProxy } from './networks.ts';

/** The parts of routes. */
interface Builders {
  /** Undefined: all processes share the loopback interface. */
  lab: Lab | undefined;
  /** Undefined: no network needs a proxy. */
  toxiproxy: Toxiproxy | undefined;
}

/** The network path from the generator to servers of the pipeline. */
export interface Route {
  host: string;
  /** The address at which the generator finds each server, by its name. */
  ports: Record<string, number>;
  close(): Promise<void>;
}

/**
 * @param plan undefined: a route without emulation
 * @param ports on which the servers listen, by name
 */
export async function openRoute(
  plan: Plan | undefined,
  { lab, toxiproxy }: Builders,
  ports: Record<string, number>,
): Promise<Route> {
  const host = lab === undefined ? '127.0.0.1' : PIPELINE;
  const proxies: { remove(): Promise<void> }[] = [];
  const close = async () => {
    await lab?.clear();
    for (const proxy of proxies) await proxy.remove();
  };
  try {
    const reached: Record<string, number> = { ...ports };
    if (plan !== undefined && toxiproxy !== undefined && wantsProxy(plan)) {
      for (const [name, port] of Object.entries(ports)) {
        const proxy = await toxiproxy.proxy(
          `${name}-${port}`,
          port,
          lab === undefined ? '127.0.0.1' : '0.0.0.0',
        );
        proxies.push(proxy);
        reached[name] = proxy.port;
        for (const direction of ['up', 'down'] as const) {
          if (plan.delay === 'proxy') await proxy.delay(plan.network.delay, direction);
          if (plan.rate === 'proxy') await proxy.throttle((plan.network.rate * 1000) / 8, direction);
        }
      }
    }
    await (plan === undefined ? lab?.clear() : lab?.shape(plan, Object.values(reached)));
    return { host, ports: reached, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** The URL with another host and port. */
function atAddress(url: string, host: string, port: number): string {
  const at = new URL(url);
  at.hostname = host;
  at.port = String(port);
  return at.toString().replace(/\/$/, '');
}

/** The port in a URL. */
export function portOf(url: string): number {
  return Number(new URL(url).port);
}

/**
 * Writes the stack.json that the generator reads. It reaches ingest and broker over the network, and Redis
 * (clock, telemetry) outside it.
 * @param route has the ports of `ingest` and `mqtt`
 * @param facts what the report says of the network
 * @returns the directory of the file
 */
export async function writeGeneratorStack(
  dir: string,
  stack: StackFile,
  { host, ports }: Omit<Route, 'close'>,
  facts: Record<string, string> = {},
): Promise<string> {
  const { ingest, mqtt } = ports as { ingest: number; mqtt: number };
  const inLab = host !== '127.0.0.1';
  const direct = (url: string) => (inLab ? atAddress(url, PIPELINE_DIRECT, portOf(url)) : url);
  const own = join(dir, 'generator');
  await mkdir(own, { recursive: true, mode: 0o700 });
  await writeStackFile(own, {
    ...stack,
    ingest: { ...stack.ingest, url: atAddress(stack.ingest.url, host, ingest) },
    mqtt: { ...stack.mqtt, url: atAddress(stack.mqtt.url, host, mqtt) },
    redis: { url: direct(stack.redis.url) },
    facts: { ...stack.facts, ...facts },
    ...(inLab && { oneHost: true }),
  });
  return own;
}
