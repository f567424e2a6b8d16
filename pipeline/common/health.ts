import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyPluginAsync, type FastifyReply, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { ConfigError } from '../shared/config.ts';
import { limitConnections } from './connections.ts';
import type { Readiness } from './readiness.ts';

interface HealthOptions {
  ready: () => Readiness | Promise<Readiness>;
  metrics: Registry;
}

const RETRY_AFTER_S = 1;
/** Connections of a health server: those of a probe, of Prometheus, of somebody who looks. */
const MOST_CONNECTIONS = 64;
/** ms until one that says nothing makes room for others. */
const IDLE_MS = 5000;

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
  const app = fastify({
    forceCloseConnections: true,
    keepAliveTimeout: IDLE_MS,
    http: { headersTimeout: IDLE_MS, requestTimeout: IDLE_MS, connectionsCheckingInterval: IDLE_MS / 5 },
  }) as unknown as FastifyInstance;
  limitConnections(app.server, MOST_CONNECTIONS);
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
