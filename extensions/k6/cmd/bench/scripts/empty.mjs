// The baseline of the ingest: a route that takes the same request, answers 202 and does nothing.
import { fastify } from 'fastify';

const app = fastify({ keepAliveTimeout: 72_000 });
let count = 0;
app.post('/messages', (_request, reply) => {
  count++;
  reply.code(202).send();
});
app.get('/count', async () => ({ count }));
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
