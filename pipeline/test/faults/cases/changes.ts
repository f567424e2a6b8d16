import type { Case } from '../case.ts';
import { until } from '../until.ts';

/** Redis changes while its clients stay connected. */
export const changeCases: Case[] = [
  {
    row: 33,
    fault: 'an evicting maxmemory-policy is set while the pipeline runs',
    expected: '503 within seconds; what was accepted before arrives; 0 lost',
    async play(scene) {
      const { rig, load } = await scene.underLoad({}, { idle: '60s' }, 12);
      const set = (limit: string, policy: string) =>
        rig.inRedis((redis) => redis.config('SET', 'maxmemory', limit, 'maxmemory-policy', policy));
      const since = performance.now();
      await scene.harm(() => set('1gb', 'allkeys-lru'));
      await scene.harm(() => until(async () => (await rig.post()).status === 503, 'the ingest refuses'));
      const took = performance.now() - since;
      const answer = await rig.post();
      await until(async () => (await rig.depth()) === 0, 'an empty queue');
      await set('0', 'noeviction');
      await until(async () => (await rig.post()).status === 202, 'the ingest accepts again');
      const run = await scene.settle(load, 'rejected');
      scene.checks
        .atMost('refused after, ms', took, 5000)
        .holds('answer', `${answer.status}`, answer.status === 503 && answer.retryAfter !== null)
        .atLeast('rejected', run.account.rejected, 1);
      return run;
    },
  },
  {
    row: 34,
    fault: 'Redis demoted to a replica; its address leads to the new primary, connections stay open',
    expected: 'new connections within seconds, without a restart; 0 lost',
    async play(scene) {
      const { rig, load } = await scene.underLoad({ replica: true }, { idle: '60s' }, 15);
      const since = performance.now();
      await scene.harm(() => rig.failOver());
      await until(async () => (await rig.post()).status === 202, 'the ingest accepts again');
      const took = performance.now() - since;
      const role = await rig.inRedis((redis) => redis.info('replication'));
      const run = await scene.settle(load, 'rejected');
      const left = await rig.depth();
      scene.checks
        .atMost('accepted again after, ms', took, 10_000)
        .holds(
          'its address leads to',
          role.includes('connected_slaves:1') ? 'a primary' : 'no primary',
          role.includes('role:master'),
        )
        .atLeast('rejected meanwhile', run.account.rejected, 1)
        .same('in the new primary afterwards', left, 0);
      return run;
    },
  },
];
