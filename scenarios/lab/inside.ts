/** Runs a pipeline in this process's network namespace until SIGTERM. Its servers listen on all addresses. */
import { once } from 'node:events';
import { readConfig, StackConfig } from '../../pipeline/shared/config.ts';
import { exitAfter, explain } from '../../pipeline/stack/explain.ts';
import { Stack } from '../../pipeline/stack/stack.ts';

async function main(): Promise<number> {
  const ended = once(process, 'SIGTERM');
  const stack = await Stack.start(readConfig(StackConfig), {}, { listen: '0.0.0.0' });
  console.log('up');
  const failure = await Promise.race([stack.failed, ended.then(() => undefined)]);
  await stack.stop(0);
  if (failure === undefined) return 0;
  explain(failure);
  return 1;
}

exitAfter(main());
