import { execa } from 'execa';
import { DAEMON_PATH } from '../../pipeline/stack/launch.ts';
import { Supervised } from '../../pipeline/stack/process.ts';

/**
 * Runs shell commands. Rejects in one line with the error of the first that fails.
 * @param within a command that execs another one elsewhere, like in a network namespace
 * @returns their output
 */
export async function sh(script: string, within: readonly string[] = [], input?: string): Promise<string> {
  const [command = '', ...args] = [...within, 'sh', '-e', '-c', script];
  const {
    failed,
    stdout = '',
    stderr = '',
    shortMessage = '',
  } = await execa(command, args, {
    env: { PATH: DAEMON_PATH },
    reject: false,
    ...(input !== undefined && { input }),
  });
  if (!failed) return stdout;
  const [first = ''] = stderr.split('\n').filter((line) => line.trim() !== '');
  const tool = /^\s*(\S+)/.exec(script)?.[1] ?? '';
  throw new Error(`${tool}: ${(first || shortMessage).replace(/^Error: /, '').replace(/\.$/, '')}`);
}

/** Starts a process that holds a new network namespace, with a loopback, until it ends. */
export async function holdNamespace(name: string, logs: string): Promise<Supervised> {
  const hold = 'ip link set lo up && echo ready && exec sleep infinity';
  const args = ['--net', 'sh', '-c', hold];
  const holder = await Supervised.start({ name, command: 'unshare', args }, { logs });
  try {
    await holder.says(/^ready$/, 10_000);
  } catch (error) {
    await holder.stop();
    throw error;
  }
  return holder;
}

/** The command prefix that runs a command in the network namespace of a process. */
export const inNamespaceOf = (pid: number): string[] => ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
