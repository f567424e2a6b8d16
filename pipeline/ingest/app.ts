import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { Intake, type IntakeOptions } from './intake.ts';
import { Refusal } from './refusal.ts';

/**
 * The front API: `POST /messages`, `POST /messages/batch`, `GET /livez`, `GET /readyz`.
 * It answers 202 once Redis has acknowledged the write, and every error as `{"error", "field"?}`.
 */
export const ingest: FastifyPluginAsync<IntakeOptions> = async (app, options) => {
  const intake = new Intake(options);
  app.addHook('onReady', async () => intake.start());
  app.addHook('onClose', async () => intake.stop());
  // A body is read where it is wanted, by the intake, and nowhere else.
  app.removeAllContentTypeParsers();

  app.setNotFoundHandler((request) => {
    throw new Refusal(404, `there is no ${request.method} ${request.url.slice(0, 128)}`);
  });

  app.setErrorHandler((error: FastifyError | Refusal, _request, reply) => {
    intake.refuse(reply.hijack().raw, error);
  });

  app.get('/livez', async () => ({ status: 'alive' }));

  app.get('/readyz', async () => {
    const refusal = intake.unready();
    if (refusal !== undefined) throw refusal;
    return { status: 'ready' };
  });

  const routes = { '/messages': intake.one, '/messages/batch': intake.batch };
  for (const [url, take] of Object.entries(routes)) {
    // Before anything of Fastify's own: the stage `ingest` starts there, and most requests do not come this way.
    const onRequest = (request: FastifyRequest, reply: FastifyReply) => take(request.raw, reply.hijack().raw);
    app.post(url, { onRequest }, () => {});
    app.shortcuts.set(url, take);
  }
};
