import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type StackFile, writeStackFile } from '../../pipeline/stack/file.ts';
import { type Lab, PIPELINE, PIPELINE_ASIDE } from './lab.ts';
import { factsOf, type Plan, wantsProxy } from './networks.ts';
import type { Toxiproxy } from './toxiproxy.ts';

/** What ways are made of. */
export interface Builders {
  /** Undefined: everything is on the loopback. */
  lab: Lab | undefined;
  /** Undefined: no network wants it. */
  toxiproxy: Toxiproxy | undefined;
}

/** The way from the generator to servers of the pipeline, over a network. */
export interface Way {
  host: string;
  /** Where the generator finds each server, by its name. */
  ports: Record<string, number>;
  close(): Promise<void>;
}

/** @param ports on which the servers listen, by name. */
export async function openWay(
  plan: Plan,
  { lab, toxiproxy }: Builders,
  ports: Record<string, number>,
): Promise<Way> {
  const host = lab === undefined ? '127.0.0.1' : PIPELINE;
  const links: { remove(): Promise<void> }[] = [];
  const close = async () => {
    await lab?.clear();
    for (const link of links) await link.remove();
  };
  try {
    const reached: Record<string, number> = { ...ports };
    if (toxiproxy !== undefined && wantsProxy(plan)) {
      for (const [name, port] of Object.entries(ports)) {
        const link = await toxiproxy.proxy(
          `${name}-${port}`,
          port,
          lab === undefined ? '127.0.0.1' : '0.0.0.0',
        );
        links.push(link);
        reached[name] = link.port;
        for (const direction of ['up', 'down'] as const) {
          if (plan.delay === 'proxy') await link.delay(plan.network.delay, direction);
          if (plan.rate === 'proxy') await link.throttle((plan.network.rate * 1000) / 8, direction);
        }
      }
    }
    await lab?.shape(plan, Object.values(reached));
    return { host, ports: reached, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Where a URL leads when it goes to another host and port. */
export function moved(url: string, host: string, port: number | string): string {
  const at = new URL(url);
  at.hostname = host;
  at.port = String(port);
  return at.toString().replace(/\/$/, '');
}

/** The port of a URL that names one. */
export function portOf(url: string): number {
  return Number(new URL(url).port);
}

/**
 * Writes the stack.json that the generator reads: ingest and broker over the network, Redis (the clock, the telemetry) beside it.
 * @param way its `ports` are those of `ingest` and `mqtt`.
 * @returns its directory
 */
export async function tellGenerator(
  dir: string,
  stack: StackFile,
  way: Way,
  plan: Plan | undefined,
): Promise<string> {
  const { ingest, mqtt } = way.ports as { ingest: number; mqtt: number };
  const inLab = way.host === PIPELINE;
  const aside = (url: string) => (inLab ? moved(url, PIPELINE_ASIDE, portOf(url)) : url);
  const own = join(dir, 'generator');
  await mkdir(own, { recursive: true, mode: 0o700 });
  await writeStackFile(own, {
    ...stack,
    ingest: { ...stack.ingest, url: moved(stack.ingest.url, way.host, ingest) },
    mqtt: { ...stack.mqtt, url: moved(stack.mqtt.url, way.host, mqtt) },
    redis: { url: aside(stack.redis.url) },
    facts: { ...stack.facts, ...(plan && factsOf(plan)) },
    ...(inLab && { oneHost: true }),
  });
  return own;
}
