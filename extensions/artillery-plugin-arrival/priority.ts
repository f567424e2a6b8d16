/** The generator before the pipeline's processes on its host, as k6 has it (extensions/k6/arrival/priority_linux.go). */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { OptionError } from './options.ts';

/** Of the fields of proc(5)'s stat behind the name: the scheduling policy. */
const POLICY = 38;

/**
 * While requests have times that they are due at, they would wait for what the pipeline does on the same cores. Puts all threads of this
 * process, and those that they start, into SCHED_RR, where the system lets it (Linux, CAP_SYS_NICE); else nothing changes.
 * @throws {OptionError} when PRIORITY is neither realtime nor normal
 */
export function goFirst(priority = process.env.PRIORITY || 'realtime'): void {
  if (priority !== 'realtime' && priority !== 'normal') {
    throw new OptionError(`PRIORITY is "${priority}"; allowed: realtime, normal`);
  }
  if (priority === 'normal' || policy() !== '0') return;
  spawnSync('chrt', ['--all-tasks', '--rr', '--pid', '1', String(process.pid)], { stdio: 'ignore' });
}

/** 0 is SCHED_OTHER; undefined where the system does not tell. */
export function policy(): string | undefined {
  try {
    return readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ')[POLICY];
  } catch {
    return undefined;
  }
}
