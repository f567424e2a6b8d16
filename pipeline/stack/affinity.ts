import { readFileSync } from 'node:fs';
import { ConfigError } from '../common/config.ts';

/** What CPUs can be chosen for. Of several processes of one kind each may run on all of its CPUs. */
const COMPONENTS = ['ingest', 'k6', 'mosquitto', 'nginx', 'redis', 'relay'];
const ALLOWED = `<component>=<CPUs> with spaces between, as ingest=0 relay=1,2-3; a component is one of ${COMPONENTS.join(', ')}`;

/** By component, the CPUs that it may run on, as `taskset` takes them. */
export type Affinity = ReadonlyMap<string, string>;

/** Reads CPU_AFFINITY; undefined: every process may run on every CPU. Throws {@link ConfigError}. */
export function readAffinity(text: string | undefined): Affinity {
  const affinity = new Map<string, string>();
  if (text === undefined || text.trim() === '') return affinity;
  const ours = allowedCpus();
  if (ours === undefined)
    throw wrong(text, 'and this system is not Linux', 'nothing, as CPUs are chosen by taskset');
  for (const part of text.trim().split(/\s+/)) {
    const [, component = '', cpus = ''] = /^([a-z0-9]+)=(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)$/.exec(part) ?? [];
    if (!COMPONENTS.includes(component)) {
      throw wrong(text, `of which ${JSON.stringify(part)} cannot be read`, ALLOWED);
    }
    if (affinity.has(component)) throw wrong(text, `which has ${component} twice`, ALLOWED);
    const foreign = rangesOf(cpus).find(([from, to]) => to < from || !includes(ours, from, to));
    if (foreign !== undefined) {
      throw wrong(text, `and there are no CPUs ${[...new Set(foreign)].join('-')} here`, `those of ${ours}`);
    }
    affinity.set(component, cpus);
  }
  return affinity;
}

/** The words before a command that have it run on its CPUs; they become it. */
export function onItsCpus(affinity: Affinity, component: string): string[] {
  const cpus = affinity.get(component);
  return cpus === undefined ? [] : ['taskset', '-c', cpus];
}

/** Those that this process may run on, as the kernel lists them; undefined where it is not Linux. */
function allowedCpus(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
}

/** `0,2-3` as the first and the last of each range. */
function rangesOf(cpus: string): [from: number, to: number][] {
  return cpus.split(',').map((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return [from, to];
  });
}

/** Whether all of these are among `cpus`, whose ranges do not touch each other. */
function includes(cpus: string, from: number, to: number): boolean {
  return rangesOf(cpus).some((range) => range[0] <= from && to <= range[1]);
}

function wrong(text: string, what: string, allowed: string): ConfigError {
  return new ConfigError(`CPU_AFFINITY is ${JSON.stringify(text)}, ${what}; allowed: ${allowed}`);
}
