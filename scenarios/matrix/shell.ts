import { execa } from 'execa';
import { DAEMON_PATH } from '../../pipeline/stack/launch.ts';

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
