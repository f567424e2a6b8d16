import { readFileSync } from 'node:fs';
import { ConfigError } from '../shared/config.ts';

/** Components that can have CPUs. Each process of a component may use all of its CPUs. */
const COMPONENTS = ['ingest', 'k6', 'mosquitto', 'nginx', 'redis', 'relay'];
const ALLOWED = `<component>=<CPUs> with spaces between, as ingest=0 relay=1,2-3; a component is one of ${COMPONENTS.join(', ')}`;

/** The CPUs of each component, in `taskset`'s form. */
export type Affinity = ReadonlyMap<string, string>;

/** Reads CPU_AFFINITY; undefined allows all CPUs. Throws {@link ConfigError}. */
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

/** The command prefix that runs a command on its CPUs. */
export function onItsCpus(affinity: Affinity, component: string): string[] {
  const cpus = affinity.get(component);
  return cpus === undefined ? [] : ['taskset', '-c', cpus];
}

/** The CPUs that this process may use, as the kernel lists them; undefined except on Linux. */
function allowedCpus(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
}

/** First and last of each range of `0,2-3`. */
function rangesOf(cpus: string): [from: number, to: number][] {
  return cpus.split(',').map((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return [from, to];
  });
}

/** Whether `cpus`, with disjoint ranges, includes all of these. */
function includes(cpus: string, from: number, to: number): boolean {
  return rangesOf(cpus).some((range) => range[0] <= from && to <= range[1]);
}

function wrong(text: string, what: string, allowed: string): ConfigError {
  return new ConfigError(`CPU_AFFINITY is ${JSON.stringify(text)}, ${what}; allowed: ${allowed}`);
}
