import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyPluginAsync, type FastifyReply, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { ConfigError } from './config.ts';

/**
 * What a problem means for readiness.
 *
 * `starting`, `stopping`, `misconfigured`: this process cannot work, and others may. `/readyz` answers 503: its Service leaves
 * it out, and a roll-out waits for it.
 *
 * `shared`: a server is away, or a limit is reached, for all processes alike. `/readyz` answers 200 and names it. If all left
 * the Service at once, clients would find nobody, instead of a 503 that says when to try again.
 */
export const PROBLEM_KINDS = ['starting', 'stopping', 'misconfigured', 'shared'] as const;

/** Why a process cannot do its work now. */
export interface Problem {
  /** In a few words. */
  problem: string;
  kind: (typeof PROBLEM_KINDS)[number];
}

/** Whether a process can do its work now, and the facts behind that. */
export interface Readiness {
  /** The weightiest first; none: it works. */
  problems: readonly Problem[];
  facts?: Record<string, string | number | boolean>;
}

/** The problem of a process that has got a signal to end. */
export const STOPPING: Problem = { problem: 'it is stopping', kind: 'stopping' };

export interface HealthOptions {
  ready: () => Readiness | Promise<Readiness>;
  metrics: Registry;
}

const RETRY_AFTER_S = 1;

/** `GET /metrics`, as Prometheus scrapes it. */
export const metrics: FastifyPluginAsync<{ metrics: Registry }> = async (app, { metrics: registry }) => {
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', registry.contentType);
    return registry.metrics();
  });
};

/** Answers `GET /readyz`: 503 when this process itself is the reason why it cannot work. */
export function answerReadiness(reply: FastifyReply, { problems, facts }: Readiness): FastifyReply {
  const own = problems.find(({ kind }) => kind !== 'shared');
  if (own === undefined) return reply.send({ status: 'ready', problems, ...facts });
  return reply
    .code(503)
    .header('retry-after', RETRY_AFTER_S)
    .send({ error: own.problem, problems, ...facts });
}

/** `GET /livez`: the process runs. `GET /readyz`: whether it can work, and its problems. `GET /metrics`. */
export const health: FastifyPluginAsync<HealthOptions> = async (app, options) => {
  app.get('/livez', async () => ({ status: 'alive' }));
  app.get('/readyz', async (_request, reply) => answerReadiness(reply, await options.ready()));
  await app.register(metrics, { metrics: options.metrics });
};

/** Where a server listens. What Fastify returns is one of the host's addresses when that is 0.0.0.0. */
export function addressOf({ server }: Pick<FastifyInstance, 'server'>, scheme = 'http'): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Serves a process's health on a port of its own; 0 chooses a free one. */
export async function serveHealth(
  host: string,
  port: number,
  options: HealthOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  const app: FastifyInstance = fastify({ forceCloseConnections: true });
  await app.register(health, options);
  try {
    await app.listen({ host, port });
    return { url: addressOf(app), close: () => app.close() };
  } catch (error) {
    throw new ConfigError(
      `HEALTH_PORT=${port} on HEALTH_HOST=${host} cannot be used: ${(error as Error).message}`,
    );
  }
}

/** The answer to `question` within `withinMs`, else undefined: a health probe must not hang. */
export async function within<T>(withinMs: number, question: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, withinMs, undefined);
  });
  return Promise.race([question.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
