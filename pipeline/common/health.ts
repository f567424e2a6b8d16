import { type FastifyInstance, type FastifyPluginAsync, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { ConfigError } from './config.ts';

/** Whether a process can do its work now, and the facts behind that. */
export interface Readiness {
  /** Why not, in a few words; absent: ready. */
  problem?: string | undefined;
  [fact: string]: string | number | boolean | undefined;
}

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

/** `GET /livez`: the process runs. `GET /readyz`: it can work, else 503 and why. `GET /metrics`. */
export const health: FastifyPluginAsync<HealthOptions> = async (app, options) => {
  app.get('/livez', async () => ({ status: 'alive' }));
  app.get('/readyz', async (_request, reply) => {
    const { problem, ...facts } = await options.ready();
    if (problem === undefined) return { status: 'ready', ...facts };
    return reply
      .code(503)
      .header('retry-after', RETRY_AFTER_S)
      .send({ error: problem, ...facts });
  });
  await app.register(metrics, { metrics: options.metrics });
};

/** Serves a process's health on a port of its own; 0 chooses a free one. */
export async function serveHealth(
  host: string,
  port: number,
  options: HealthOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  const app: FastifyInstance = fastify({ forceCloseConnections: true });
  await app.register(health, options);
  try {
    return { url: await app.listen({ host, port }), close: () => app.close() };
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
