import { latencyOf, type Run } from '../../../../reports/contract/run.ts';
import { figure } from '../../../../reports/format.ts';
import type { Case } from '../case.ts';
import { until } from '../until.ts';

const WINDOW = 1000;
/** The tolerance of a shift, on a host that generator and pipeline share. */
const TOLERANCE_MS = 5;
/** Bin k of the timeline begins at 10^(k/10) µs. */
const BIN_OF_100_MS = 50;

/** Deliveries that took 100 ms or more. */
function slow({ timeline }: Run): number {
  let count = 0;
  for (const { arrival_bins: bins } of timeline) {
    const [first = 0, ...counts] = bins ?? [];
    counts.forEach((n, i) => {
      if (first + i >= BIN_OF_100_MS) count += n;
    });
  }
  return count;
}

export const ingestCases: Case[] = [
  {
    row: 22,
    fault: 'malformed, oversized and undeliverable messages under load',
    expected: '400, 413, a dead letter with its reason; their neighbours do not notice',
    async play(scene) {
      const { rig, load } = await scene.underLoad({ broker: { message_size_limit: 100_000 } }, {}, 10);
      const message = (bytes: number) => ({ id: 'x', target: 'probe/1', payload: 'x'.repeat(bytes) });
      const statuses: number[] = [];
      for (const body of ['{"id":', { id: 'x', target: '#' }, message(2_000_000), message(200_000)])
        await scene.harm(async () => statuses.push((await rig.post(body)).status));
      await scene.harm(() => rig.inRedis((redis) => redis.xadd('arrival:messages', '*', 'strange', 'entry')));
      const deadLetters = () => rig.inRedis((redis) => redis.xrange('arrival:dead-letters', '-', '+'));
      await until(async () => (await deadLetters()).length >= 2, 'two dead letters');
      const reasons = (await deadLetters()).map(([, fields]) => fields[fields.indexOf('reason') + 1] ?? '');
      const run = await scene.settle(load);
      scene.checks
        .holds('answers', statuses.join(', '), statuses.join() === '400,400,413,202')
        .holds('dead letters', reasons.map((reason) => reason.slice(0, 60)).join(' · '), reasons.length === 2)
        .atMost('duplicates', run.account.duplicates, 10 * WINDOW);
      return run;
    },
  },
  {
    row: 23,
    fault: 'answers vanish: the client times out and posts again with the same id',
    expected: 'one sample a message, the duplicates counted; 0 lost',
    async play(scene) {
      const rig = await scene.rig();
      const url = rig.link.senderIngest.through(rig.ingestUrl);
      const load = await scene.load(rig, { ingest: { url, retries: 10 }, timeout: '1s' }, 8);
      await load.flowing(2);
      await scene.harm(() => rig.link.senderIngest.swallow('down'));
      await scene.wait(2.5);
      await rig.link.senderIngest.heal();
      const run = await scene.settle(load);
      scene.checks
        .atLeast('duplicates', run.account.duplicates, 1)
        .same('samples', run.latency.arrival.count, run.account.arrived);
      return run;
    },
  },
  {
    row: 24,
    fault: 'more than twice what the pipeline can carry, for a minute',
    expected: '503 with Retry-After; memory and the latency of what was accepted stay bounded; 0 lost',
    async play(scene) {
      const backlog = 2000;
      const rig = await scene.rig({
        relays: 1,
        ...(await scene.harm(() => ({ relay: { RELAY_MODE: 'serial' } }))),
        ingest: { BACKLOG_LIMIT: String(backlog) },
      });
      await scene.harm(() => rig.linksOf(0).broker.delay(1, 'down'));
      const idle = await rig.ingest.memory();
      const load = await scene.load(rig, { drain: '120s', idle: '30s' }, scene.scale.flood);
      let most = 0;
      const refusals: Awaited<ReturnType<typeof rig.post>>[] = [];
      while (load.alive) {
        most = Math.max(most, await rig.ingest.memory());
        const answer = await rig.post();
        if (answer.status !== 202) refusals.push(answer);
        await scene.wait(0.2);
      }
      const run = await scene.settle(load, 'rejected');
      const { scheduled, rejected, arrived } = run.account;
      const carried = arrived / Math.max(1, run.timeline.length);
      const retryable = refusals.filter(
        ({ status, retryAfter }) => status === 503 && retryAfter !== null,
      ).length;
      scene.checks
        .atLeast('rejected', rejected, 1)
        .atLeast('load, times what arrived', scheduled / arrived, 2)
        .atLeast('refusals looked at', refusals.length, 1)
        .same('503 with Retry-After', retryable, refusals.length)
        .atMost(`growth of the ingest, which had ${figure(idle)} MB when idle, MB`, most - idle, 50)
        // The latency counts from the send, as the generator may be late under a flood.
        .atMost(
          'from send p99, s',
          (run.latency.from_send.p99 ?? Number.NaN) / 1000,
          (4 * backlog) / carried,
        );
      return run;
    },
  },
  {
    row: 26,
    fault: 'every message is late by 0, 50 and 200 ms behind the relay',
    expected: 'the fastest `delivery` and the p50 of arrival are later by as much, within 5 ms',
    async play(scene) {
      const rig = await scene.rig();
      const [p50, fastest]: [Record<number, number>, Record<number, number>] = [{}, {}];
      let run: Run | undefined;
      for (const ms of [0, 50, 200]) {
        for (const link of rig.link.relayBroker) await scene.harm(() => link.delay(ms, 'up'));
        // Far below the capacity: a backlog would hide the delay.
        const rate = Math.ceil(scene.scale.rate / 4);
        const messages = Math.ceil(scene.scale.messages / 3);
        const load = await rig.load(rate, Math.ceil(messages / rate));
        run = await load.result();
        scene.checks.account(run, messages);
        for (const link of rig.link.relayBroker) await link.heal();
        p50[ms] = run.latency.arrival.p50 ?? Number.NaN;
        fastest[ms] = latencyOf(run.latency, 'delivery').min ?? Number.NaN;
        if (ms === 0) continue;
        const later = p50[ms] - (p50[0] ?? Number.NaN);
        scene.checks
          .atLeast(`delivery with ${ms} ms, fastest`, fastest[ms], ms)
          .atMost('later by', fastest[ms] - (fastest[0] ?? Number.NaN), ms + TOLERANCE_MS)
          .atLeast('p50, later by', later, ms - TOLERANCE_MS)
          .atMost('p50, later by', later, ms + TOLERANCE_MS);
      }
      return run;
    },
  },
  {
    row: 27,
    fault: 'ingest frozen for 1 s',
    expected: 'what was due meanwhile is late by up to 1 s: nothing is omitted',
    async play(scene) {
      const { rig, load } = await scene.underLoad();
      await scene.harm(() => rig.ingest.signal('SIGSTOP'));
      await scene.wait(1);
      rig.ingest.signal('SIGCONT');
      const run = await scene.settle(load);
      scene.checks
        .atLeast('slower than 100 ms', slow(run), 0.85 * scene.scale.rate)
        .atLeast('slowest, ms', run.latency.arrival.max ?? 0, 950);
      return run;
    },
  },
];
