// Takes orders by POST, queues them with BullMQ, and calls the webhook that each order names.
//   npm ci; REDIS_URL=redis://127.0.0.1:6379 PORT=3000 node app.js
// How long until the webhook comes back, and does each?
//   INGEST_URL=http://127.0.0.1:3000 npm run scenario -- scenarios/webhook.js -e INGEST_PATH=/orders \
//     -e BODY='{"order":"{{id}}","callback":"{{webhook}}"}' -e VERIFY=off
// Where does the time go? The run with -e SPANS=:4318, and here (no instrumentation of BullMQ 6 carries the context to its workers):
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_TRACES_SAMPLER=parentbased_always_off node \
//     --experimental-loader @opentelemetry/instrumentation/hook.mjs --import @opentelemetry/auto-instrumentations-node/register app.js
import { Queue, Worker } from 'bullmq';
import Fastify from 'fastify';
import { Redis } from 'ioredis';

const connection = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', {
  maxRetriesPerRequest: null,
});
const queue = new Queue('orders', {
  connection,
  defaultJobOptions: {
    attempts: 5,
    backoff: { type: 'exponential', delay: 100 },
    removeOnComplete: true,
    removeOnFail: 1000,
  },
});

const app = Fastify();
app.post('/orders', async (request, reply) => {
  await queue.add('order', request.body);
  return reply.code(202).send();
});

const work = async ({ data: { order, callback } }) => {
  const answer = await fetch(callback, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ order, state: 'done' }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`the webhook answered ${answer.status}`);
};
new Worker('orders', work, { connection, concurrency: 20 }).on('error', console.error);

await app.listen({ port: Number(process.env.PORT ?? 3000) });
