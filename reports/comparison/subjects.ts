/** Which runs are repeats of one another, what tells them from the others, and whether they can be compared. */
import { balance, verdict } from '../page/facts.ts';
import { instant } from '../page/format.ts';
import type { Run } from '../run.ts';
import type { Recording } from './recording.ts';

/** Runs that are repeats of one another. */
export type Group = Recording[];

/** More would not be told apart in a figure. */
export const MOST_SUBJECTS = 6;

/**
 * Repeats: runs of the same load by the same tool, with the same names and labels. Where these tell no run from another, each
 * stands for itself.
 * @param each no run is a repeat
 */
export function grouped(recordings: readonly Recording[], each: boolean): Group[] {
  const kinds = new Set(recordings.map(({ run }) => kind(run)));
  if (each || kinds.size < 2) return recordings.map((recording) => [recording]);
  const groups = Object.groupBy(recordings, ({ run }) => kind(run) + load(run));
  return Object.values(groups) as Group[];
}

function kind(run: Run): string {
  return JSON.stringify(Object.entries(traits(run)).sort());
}

/** What a user has said of a run, to tell it from others. */
function traits({ run }: Run): Record<string, string> {
  return {
    tool: run.tool.name,
    method: run.method,
    topology: run.topology,
    network: run.network,
    ...Object.fromEntries(Object.entries(run.labels).map(([name, value]) => [`label ${name}`, value])),
  };
}

/** The load that was planned; the name of the file that it stood in does not matter. */
function load({ run }: Run): string {
  const phases = run.profile.phases.map((p) => [
    p.name,
    p.duration_s,
    p.arrival_rate,
    p.ramp_to,
    p.vus,
    p.measured,
  ]);
  const flows = run.profile.flows.map((f) => [f.name, f.weight, f.messages, f.deliveries]);
  return JSON.stringify([run.model, phases, flows]);
}

/** Settings of the pipeline that name a run where nothing else does. */
const VARIANTS = ['queue', 'relay_mode', 'ingest_workers', 'relay_workers', 'mqtt_qos', 'tls'];

/** Titles of the groups: the traits in which they differ, or what the pipelines do, or else when their first runs began. */
export function titles(groups: readonly Group[]): string[] {
  const firsts = groups.map(([first]) => (first as Recording).run);
  const variants = firsts.map(({ environment: { pipeline } }) =>
    Object.fromEntries(
      VARIANTS.map((name) => [name, pipeline?.[name] === undefined ? '' : `${name} ${pipeline[name]}`]),
    ),
  );
  for (const all of [firsts.map(traits), variants]) {
    const names = [...new Set(all.flatMap((one) => Object.keys(one)))].filter(
      (name) => new Set(all.map((one) => one[name])).size > 1,
    );
    if (names.length > 0)
      return all.map((one, i) => names.flatMap((name) => one[name] || []).join(', ') || began(firsts[i]));
  }
  return firsts.map(began);
}

const began = (run: Run | undefined) => instant(run?.run.started ?? '');

/** Why a group can't be held against the baseline; null: it can. */
export function obstacle(baseline: Group, group: Group): string | null {
  const own = unfit(group);
  if (own !== null) return `not comparable: ${own}`;
  if (group === baseline) return null;
  const its = unfit(baseline);
  if (its !== null) return `not comparable: the baseline’s ${its}`;
  const loads = new Set([...baseline, ...group].map(({ run }) => load(run)));
  return loads.size > 1 ? 'not comparable: other profile' : null;
}

function unfit(group: Group): string | null {
  for (const { run } of group) {
    const { result } = verdict(run);
    if (!balance(run.account).holds || result === 'invalid') return 'run is invalid';
    if (result === 'incomplete') return 'run is incomplete';
  }
  return null;
}

/** Facts of the environments in which the groups differ, or are not of one mind themselves. */
export function environments(groups: readonly Group[]): { name: string; values: (string | null)[] }[] {
  const facts = groups.map((group) => group.map(({ run }) => flat(run.environment)));
  const names = [...new Set(facts.flat().flatMap((one) => Object.keys(one)))];
  return names
    .map((name) => ({
      name,
      values: facts.map((group) => {
        const values = [...new Set(group.map((one) => one[name] ?? '–'))];
        return values.length > 0 ? values.join(' / ') : null;
      }),
    }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** Facts below one another by the path of their names. */
function flat(value: unknown, path = ''): Record<string, string> {
  if (value === null || typeof value !== 'object') return path === '' ? {} : { [path]: `${value ?? '–'}` };
  return Object.assign(
    {},
    ...Object.entries(value).map(([name, inner]) => flat(inner, path === '' ? name : `${path}.${name}`)),
  );
}
