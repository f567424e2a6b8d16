import { execa } from 'execa';
import { DAEMON_PATH } from '../../pipeline/stack/launch.ts';
import { Supervised } from '../../pipeline/stack/process.ts';

/**
 * Runs commands of a shell. Rejects in a line with what the first that fails says.
 * @param within a command that runs another one in another place, like a network namespace, and becomes it
 * @returns what they print
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

/** A process that holds a network namespace of its own, with a loopback, for as long as it lives. */
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

/** What to put before a command that is to run in the network namespace of a process. */
export const inNamespaceOf = (pid: number): string[] => ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
