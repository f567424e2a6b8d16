import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from '../../../../reports/contract/run.ts';
import { shownRun } from '../../../../reports/render.ts';
import type { Case } from '../case.ts';
import { until } from '../until.ts';

export const runCases: Case[] = [
  {
    row: 29,
    fault: 'the load ends, and the relays have stopped working',
    expected: 'the subscriber waits up to its limit; the rest is still queued, not lost',
    async play(scene) {
      const rig = await scene.rig();
      for (const relay of rig.relays) await scene.harm(() => relay.signal('SIGSTOP'));
      const load = await scene.load(rig, { drain: '3s', idle: '3s', canary: false });
      const run = await scene.settle(load, 'queued');
      scene.checks.none(run, 'arrived').same('queued', run.account.queued, run.account.scheduled);
      return run;
    },
  },
  {
    row: 30,
    fault: 'k6 killed, and run again at once',
    expected: 'the first has a report and is incomplete; its leftovers do not enter the second',
    async play(scene) {
      const rig = await scene.rig();
      for (const relay of rig.relays) relay.signal('SIGSTOP');
      const first = await scene.load(rig);
      await until(async () => (await rig.depth()) > 500, 'messages of the first run wait');
      await scene.harm(async () => {
        first.signal('SIGKILL');
        await first.lastWords();
      });
      const second = await scene.load(rig);
      await second.sending();
      for (const relay of rig.relays) relay.signal('SIGCONT');
      const run = await scene.settle(second);
      const killed: Run = await first.result();
      const page = await readFile(join(first.dir, 'index.html'), 'utf8').catch(() => '');
      const shown = page === '' ? undefined : shownRun(page);
      scene.checks
        .verdict(killed, ['incomplete'])
        .holds(
          'its page',
          shown === undefined ? 'is not there' : `${shown.run.id} ${shown.verdict.result}`,
          shown?.run.id === killed.run.id && shown.verdict.result === 'incomplete',
        )
        .holds('balanced', String(killed.account.balanced), killed.account.balanced)
        .atLeast('foreign in the second', run.account.foreign, 1)
        .same('arrived in the second', run.account.arrived, run.account.scheduled);
      return run;
    },
  },
];
