import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { type FastifyInstance, fastify } from 'fastify';
import { build, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { Redis } from 'ioredis';
import { startRedis } from '../../../pipeline/test/services.ts';
import { FORM } from '../../latency.ts';
import { golden } from '../../test/goldens.ts';
import { history } from '../app.ts';
import { Catalogue } from '../catalogue.ts';
import type { Listing } from '../entry.ts';
import { Instances, type Place } from '../instances.ts';
import { temporaryRuns, writeRun } from './runs.ts';

/** As if it were told in an hour: a busy machine must not end the run. */
const LATER = Date.now() + 3_600_000;

let root: string;
let redis: Awaited<ReturnType<typeof startRedis>>;
let writer: Redis;
let app: FastifyInstance;
let address: string;
let place: Place | undefined;
const errors: Error[] = [];
before(async () => {
  [root, redis] = await Promise.all([temporaryRuns(), startRedis()]);
  writer = new Redis(redis.url);
  place = { url: redis.as('reader') };
  app = fastify({ forceCloseConnections: true });
  await app.register(history, {
    catalogue: new Catalogue(root),
    instances: new Instances(async () => place),
    pages: { list: '<p>list</p>', comparison: '' },
    onError: (error) => errors.push(error),
  });
  address = await app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  await app.close();
  writer.disconnect();
  await redis.service.remove();
  await rm(root, { recursive: true });
  assert.deepEqual(errors, []);
});

async function list(): Promise<Listing['runs']> {
  return ((await (await fetch(`${address}/api/runs`)).json()) as Listing).runs;
}

/** What the instance that sets the start says of a run. */
async function announce(directory: string, id: string, at = LATER): Promise<void> {
  const { run } = golden('passing');
  run.id = id;
  run.ended = null;
  run.generator = {
    number: 1,
    of: 3,
    segment: '0:1/3',
    sequence: '0,1/3,2/3,1',
    start_us: 1_795_317_447_755_881,
    late_ms: 0,
  };
  await writer.xadd('arrival:runs', `${at}-*`, 'directory', directory, 'run', JSON.stringify(run));
}

/** A second as an instance tells it. @param values µs, with how often each came */
async function tell(id: string, number: number, t: number, values: [value: number, times: number][], at = 1) {
  const histogram = build(FORM);
  for (const [value, times] of values) histogram.recordValueWithCount(value, times);
  const count = histogram.totalCount;
  const sum = values.reduce((total, [value, times]) => total + value * times, 0);
  const max = Math.max(...values.map(([value]) => value)) / 1000;
  const second = {
    ...golden('passing').timeline[1],
    ...{
      t,
      phase: 'ramp',
      scheduled: 110,
      accepted: 105,
      rejected: 3,
      failed: 2,
      arrived: count,
      backlog: 5,
    },
    arrival: { count, mean: sum / count / 1000, p50: null, p95: null, p99: null, max },
  };
  const own = ['number', number, 'second', JSON.stringify(second)];
  const arrival = encodeIntoCompressedBase64(histogram);
  await writer.xadd(`arrival:run:${id}:timeline`, `${at}-*`, ...own, 'arrival', arrival);
}

test('the sum of a run by three instances, as it goes', async () => {
  await announce('ramp-cluster', 'abcd1234');
  await tell('abcd1234', 1, 0, [
    [100, 98],
    [2000, 2],
  ]);
  await tell('abcd1234', 2, 0, [[200, 100]]);
  await tell('abcd1234', 3, 0, [[300, 100]]);
  await tell('abcd1234', 1, 1, [[100, 100]]);
  await tell('abcd1234', 2, 1, [[400, 100]]);
  await tell('abcd1234', 1, 2, [[100, 100]], LATER);
  await tell('abcd1234', 2, 2, [[100, 100]], LATER);

  const [run] = await list();
  assert.deepEqual(
    [run?.directory, run?.live, run?.generators, run?.account],
    ['ramp-cluster', true, 3, null],
  );
  assert.equal((await fetch(`${address}/live/ramp-cluster`)).status, 200);
  assert.equal((await fetch(`${address}/runs/ramp-cluster/run.json`)).status, 404);

  const answer = await fetch(`${address}/api/runs/ramp-cluster/live`);
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const next = async () => {
    const { value, done } = await reader.read();
    assert.ok(!done);
    return new TextDecoder().decode(value);
  };
  const [, seconds = ''] = (await next()).match(/^event: seconds\ndata: (.*)\n\n$/) ?? [];
  const common = { phase: 'ramp', scheduled: 330, accepted: 315, refused: 15, arrived: 300, backlog: 15 };
  const two = { phase: 'ramp', scheduled: 220, accepted: 210, refused: 10, arrived: 200, backlog: 10 };
  assert.deepEqual(JSON.parse(seconds), [
    // The percentile of all samples: of the first instance's own it would be 2.
    { t: 0, ...common, p50: 0.2, p99: 0.3, generators: { of: 3, missing: [] } },
    { t: 1, ...two, p50: 0.1, p99: 0.4, generators: { of: 3, missing: [3] } },
  ]);
  await tell('abcd1234', 3, 1, [[900, 100]], LATER); // too late: it has been told without
  await tell('abcd1234', 3, 2, [[100, 100]], LATER);
  const [, third = ''] = (await next()).match(/^event: seconds\ndata: (.*)\n\n$/) ?? [];
  assert.deepEqual(JSON.parse(third), [
    { t: 2, ...common, p50: 0.1, p99: 0.1, generators: { of: 3, missing: [] } },
  ]);
  for (const number of [1, 2, 3]) {
    await writer.xadd('arrival:run:abcd1234:timeline', `${LATER}-*`, 'number', number, 'end', 1);
  }
  assert.equal(await next(), 'event: end\ndata: {}\n\n');

  // Its report, once its parts have been merged.
  await writeRun(root, 'ramp-cluster', golden('passing'));
  assert.deepEqual(
    (await list()).map(({ directory, live, verdict }) => [directory, live, verdict]),
    [['ramp-cluster', false, 'pass']],
  );
  await rm(`${root}/ramp-cluster`, { recursive: true });
});

test('what is silent, or no run, is not in progress', async () => {
  await writer.del('arrival:runs');
  await announce('silent', 'abcd1235', Date.now() - 60_000);
  await announce('../secret', 'abcd1236');
  await writer.xadd('arrival:runs', `${LATER}-*`, 'directory', 'odd', 'run', '{"generator":{"of":3}}');
  assert.deepEqual(await list(), []);
  assert.equal((await fetch(`${address}/api/runs/silent/live`)).status, 404);
  await announce('running', 'abcd1237');
  assert.equal((await list()).length, 1);
  place = undefined;
  assert.deepEqual(await list(), [], 'no pipeline is up');
  place = { url: 'redis://127.0.0.1:1' };
  assert.deepEqual(await list(), [], 'it does not answer');
});
