import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { latencyOf } from '../../../../reports/contract/run.ts';
import type { Case, Scene } from '../case.ts';
import type { FurtherOptions } from '../load.ts';
import type { Rig } from '../rig.ts';
import { until } from '../until.ts';

/** The most ms of an answer while Redis is away: for half of them when the ingest has its own core, and for all on any machine. */
const PROMPTLY_MS = { half: 100, all: 1000 };
/** `REDIS_TIMEOUT_MS`. */
const DEADLINE_MS = 2000;
/** The time after which a relay that has not published a claim has not seen it, s. */
const UNSEEN_S = 1;
/** Commands that take 6 s to load. */
const LOADED = 30_000;

/** Posts a message every 100 ms for so long, and returns the answers. */
async function ask(rig: Rig, seconds: number) {
  const answers: Awaited<ReturnType<Rig['post']>>[] = [];
  const end = Date.now() + 1000 * seconds;
  while (Date.now() < end) {
    answers.push(await rig.post());
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return answers;
}

/** Checks that all answers are 503 with Retry-After, in time. */
function refusedPromptly(scene: Scene, answers: Awaited<ReturnType<typeof ask>>, half: number): void {
  const others = answers.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null);
  const took = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  scene.checks
    .holds(
      'answers meanwhile',
      `${answers.length - others.length} of ${answers.length} are 503 with Retry-After`,
      answers.length > 0 && others.length === 0,
    )
    .atMost('half of them within, ms', took[took.length >> 1] ?? Number.NaN, half)
    .atMost('all of them within, ms', took.at(-1) ?? Number.NaN, PROMPTLY_MS.all);
}

async function accepts(rig: Rig): Promise<void> {
  await until(async () => (await rig.post()).status === 202, 'the ingest accepts again');
}

/** A pipeline under load whose relays are stopped until `goOn`, with more than `depth` messages in Redis. */
async function heldUp(scene: Scene, depth: number, further: FurtherOptions = {}, atLeast?: number) {
  const rig = await scene.rig();
  for (const relay of rig.relays) relay.signal('SIGSTOP');
  const load = await scene.load(rig, { idle: '60s', ...further }, atLeast);
  await until(async () => (await rig.depth()) > depth, 'messages wait');
  const goOn = async () => {
    for (const relay of rig.relays) relay.signal('SIGCONT');
    await accepts(rig);
  };
  return { rig, load, goOn };
}

export const redisCases: Case[] = [
  {
    row: 6,
    fault: 'connection to Redis reset during a blocking read, whose reply vanishes, 5 times',
    expected: 'what was claimed and not seen is recovered; 0 lost',
    async play(scene) {
      const { rig, load } = await scene.underLoad({}, {}, 20);
      const { ids: published } = await rig.taken();
      let unseen = 0;
      for (let n = 0; n < 5; n++) {
        for (const link of rig.link.relayRedis) await scene.harm(() => link.swallow('down'));
        await scene.wait(0.3);
        const claims = await rig.claimed();
        // A relay publishes a claim that it has seen at once, or as soon as it gets a core.
        const left = () => claims.filter((id) => !published.has(id)).length;
        for (let waited = 0; left() > 0 && waited < UNSEEN_S; waited += 0.02) await scene.wait(0.02);
        unseen += left();
        for (const link of rig.link.relayRedis) await link.heal();
        const { size } = published;
        await until(() => published.size > size + scene.scale.rate / 10, 'relays that publish again');
      }
      const run = await scene.settle(load);
      scene.checks.atLeast('claimed by a lost reply', unseen, 5);
      return run;
    },
  },
  {
    row: 7,
    fault: 'Redis down for 30 s',
    expected: '503 with Retry-After, promptly; memory flat; back without a restart; 0 lost',
    async play(scene) {
      const rig = await scene.rig();
      const { outage } = scene.scale;
      const load = await scene.spread(rig, outage + 8);
      await load.flowing(3);
      await scene.harm(() => rig.redis.terminate());
      await until(async () => (await rig.post()).status === 503, 'the ingest refuses');
      const before = await rig.ingest.memory();
      const answers = await ask(rig, outage);
      const after = await rig.ingest.memory();
      await scene.harm(() => rig.redis.start());
      await accepts(rig);
      const run = await scene.settle(load, 'rejected');
      refusedPromptly(scene, answers, PROMPTLY_MS.half);
      scene.checks
        .atMost('growth of the ingest, MB', after - before, 20)
        .atLeast('rejected', run.account.rejected, 1);
      return run;
    },
  },
  {
    row: 8,
    fault: 'Redis hangs: it takes commands and answers none',
    expected: '503 by the deadline, then promptly; nothing pends for ever; 0 lost',
    async play(scene) {
      const { rig, load } = await scene.underLoad({}, {}, 10);
      await scene.harm(() => rig.redis.signal('SIGSTOP'));
      const first = await rig.post();
      const answers = await ask(rig, 3);
      rig.redis.signal('SIGCONT');
      await accepts(rig);
      const run = await scene.settle(load, 'rejected');
      scene.checks.atMost('first answer, ms', first.ms, DEADLINE_MS + PROMPTLY_MS.all);
      // The load continues at its full rate, and all of it is refused.
      refusedPromptly(scene, answers, PROMPTLY_MS.all);
      return run;
    },
  },
  {
    row: 9,
    fault: 'Redis answers 200 ms later',
    expected: 'the stage `queue` grows by it, no other one; 0 lost',
    async play(scene) {
      const rig = await scene.rig();
      // Ten messages in a request, so that few requests are open though each takes 200 ms.
      const { rate, messages } = scene.scale;
      for (const link of [rig.link.ingestRedis, ...rig.link.relayRedis])
        await scene.harm(() => link.delay(200, 'down'));
      const load = await rig.load(Math.ceil(rate / 10), Math.max(6, Math.ceil(messages / rate)), {
        batch: 10,
        senders: 512,
        maxSenders: 512,
      });
      const run = await scene.settle(load, 'rejected');
      const p50 = (stage: string) => latencyOf(run.latency, stage).p50 ?? Number.NaN;
      scene.checks.atLeast('queue p50, ms', p50('queue'), 190);
      for (const stage of ['schedule', 'request', 'ingest', 'relay', 'delivery']) {
        scene.checks.atMost(`${stage} p50, ms`, p50(stage), 50);
      }
      return run;
    },
  },
  {
    row: 10,
    fault: 'Redis killed, started again with its append-only file',
    expected: 'what was acknowledged is there; 0 lost',
    async play(scene) {
      const { rig, load, goOn } = await heldUp(scene, 1000, {}, 10);
      const before = await rig.depth();
      await scene.harm(() => rig.redis.kill());
      await scene.harm(() => rig.redis.start());
      const after = await rig.depth();
      await goOn();
      const run = await scene.settle(load, 'rejected');
      scene.checks
        .atLeast('in the queue after it', after, before)
        .atLeast('rejected', run.account.rejected, 1);
      return run;
    },
  },
  {
    row: 11,
    fault: "Redis' memory is full; a policy that evicts",
    expected: '503, the queue intact, 0 lost; with a policy that evicts the ingest does not start',
    async play(scene) {
      const { rig, load, goOn } = await heldUp(scene, 1000, {}, 8);
      const limit = (value: string) => rig.inRedis((redis) => redis.config('SET', 'maxmemory', value));
      const info = await rig.inRedis((redis) => redis.info('memory'));
      await scene.harm(() => limit(String(Number(/used_memory:(\d+)/.exec(info)?.[1]) + 500_000)));
      await until(async () => (await rig.post()).status === 503, 'the ingest refuses');
      const [full, answer] = [await rig.depth(), await rig.post()];
      await scene.wait(1);
      const later = await rig.depth();
      await limit('0');
      await goOn();
      const run = await scene.settle(load, 'rejected');
      scene.checks
        .holds('answer when full', `${answer.status}`, answer.status === 503 && answer.retryAfter !== null)
        .atLeast('in the queue a second later', later, full)
        .atLeast('rejected', run.account.rejected, 1);

      await scene.harm(() =>
        rig.inRedis((redis) => redis.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru')),
      );
      await rig.ingest.stop();
      await rig.ingest.launch();
      const how = await rig.ingest.process.ended;
      const words = rig.ingest.process.lastLines.at(-1) ?? '';
      scene.checks.holds('ingest, evicting', words, how.endsWith('code 1') && words.includes('allkeys-lru'));
      return run;
    },
  },
  {
    row: 12,
    fault: 'Redis is loading its data',
    expected: 'no 202 before it is done, and /readyz names it; 0 lost',
    async play(scene) {
      const { rig, load, goOn } = await heldUp(scene, 1000, { drain: '120s' }, 10);
      // Messages written together are one command, and Redis answers after each 1,024 loaded ones.
      await rig.inRedis((redis) => {
        const many = redis.pipeline();
        for (let n = 0; n < LOADED; n++) many.incr('loaded');
        return many.exec();
      });
      await scene.harm(() => rig.redis.kill());
      // Redis' own settings to load slowly (µs a command), and to answer meanwhile.
      await appendFile(
        join(rig.dir, 'redis.conf'),
        'key-load-delay 200\nloading-process-events-interval-bytes 1024\n',
      );
      await scene.harm(() => rig.redis.launch());
      const ping = () => rig.inRedis((redis) => redis.ping()).catch((error: Error) => error.message);
      const loading = async () => (await ping()).startsWith('LOADING');
      const statuses = new Set<number>();
      let answers = 0;
      let unnamed = 0;
      while ((await ping()) !== 'PONG') {
        const before = await loading();
        const [posted, named] = [(await rig.post()).status, await rig.problems()];
        // Only answers between two LOADING states count.
        if (!before || !(await loading())) continue;
        answers++;
        statuses.add(posted);
        if (!/Redis/.test(named.join())) unnamed++;
      }
      await goOn();
      const run = await scene.settle(load, 'rejected');
      scene.checks
        .atLeast('asked meanwhile', answers, 1)
        .holds('answers', [...statuses].join(', '), statuses.size === 1 && statuses.has(503))
        .atMost('answers of /readyz without it', unnamed, 0);
      return run;
    },
  },
];
