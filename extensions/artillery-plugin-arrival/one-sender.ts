/** One sending thread: the schedule needs the n-th virtual user to send the n-th request. */
import os from 'node:os';
import { OptionError } from './pipeline.ts';
import type { Script } from './script.ts';
import type { Table } from './table.ts';

/** The path of Artillery's module that starts the sending threads. */
const LAUNCHER = /[\\/]platform[\\/]local[\\/]/;

/**
 * Makes Artillery start one sending thread. It starts one less than there are processors, and no flag, variable or setting of a script
 * changes that: --count and WORKERS are for other platforms. So its launcher is told two processors, once; everybody else is told all.
 */
export function oneSender(): void {
  const { cpus } = os;
  os.cpus = () => {
    if (!LAUNCHER.test(new Error().stack ?? '')) return cpus();
    os.cpus = cpus;
    return cpus().slice(0, 2);
  };
}

/**
 * Rejects a share of a script. Artillery writes into each phase how many threads share it.
 * @throws {OptionError} in one line, when there are several
 */
export function requireOneSender({ config }: Script): void {
  const phases = Array.isArray(config.phases) ? (config.phases as Table[]) : [];
  const threads = Math.max(1, ...phases.map(({ totalWorkers }) => Number(totalWorkers ?? 1)));
  if (threads > 1)
    throw new OptionError(
      `Artillery sends from ${threads} threads, each with a share of the load; allowed: one, which the plugin can't get from this Artillery`,
    );
}

/**
 * Rejects Artillery's workers on other machines: their threads have another clock than the recorder, and no channel to it.
 * @throws {OptionError} in one line
 */
export function requireThisHost(argv: readonly string[], env: NodeJS.ProcessEnv): void {
  const elsewhere = argv.find((arg) => /^(run[-:](fargate|ecs|lambda|aci)|(aws|az):\w+)$/.test(arg));
  if (elsewhere === undefined && env.WORKER_ID === undefined) return;
  throw new OptionError(
    `Artillery sends from other machines (${elsewhere ?? `worker ${env.WORKER_ID}`}); allowed: artillery run, whose threads are on the machine of the recorder and have its clock`,
  );
}
