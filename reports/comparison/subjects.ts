/** Which runs are repeats of one another, what tells them from the others, and whether they can be compared. */

import type { Run } from '../contract/run.ts';
import { balance, verdict } from '../page/facts.ts';
import { instant, percent } from '../page/format.ts';
import { OTHER_PROFILE } from './comparison.ts';
import type { Recording } from './recording.ts';

/** Runs that are repeats of one another. */
export type Group = Recording[];

/** More would not be told apart in a figure. */
export const MOST_SUBJECTS = 6;

/**
 * Repeats: runs of the same load by the same tool through the same pipeline, with the same names and labels. Where these tell no
 * run from another, each stands for itself.
 * @param each no run is a repeat
 */
export function grouped(recordings: readonly Recording[], each: boolean): Group[] {
  const kinds = new Set(recordings.map(({ run }) => kind(run)));
  if (each || kinds.size < 2) return recordings.map((recording) => [recording]);
  const groups = Object.groupBy(recordings, ({ run }) => kind(run) + load(run));
  return Object.values(groups) as Group[];
}

function kind(run: Run): string {
  return JSON.stringify([traits(run), settings(run)].map((named) => Object.entries(named).sort()));
}

const LABEL = 'label ';

/** What a user has said of a run, to tell it from others. */
function traits({ run }: Run): Record<string, string> {
  return {
    tool: run.tool.name,
    method: run.method,
    topology: run.topology,
    network: run.network,
    ...Object.fromEntries(Object.entries(run.labels).map(([name, value]) => [LABEL + name, value])),
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

/** Facts of the pipeline that its host has told: nobody has set them. */
const NO_SETTINGS = ['host_figures', 'mqtt_open_files'];

/** The settings and versions of the pipeline that the run went through. */
function settings({ environment: { pipeline } }: Run): Record<string, string> {
  const facts = Object.entries(pipeline ?? {}).filter(([name]) => !NO_SETTINGS.includes(name));
  return Object.fromEntries(facts.map(([name, value]) => [name, `${name} ${value}`]));
}

/** Settings that people know a pipeline by. */
const VARIANTS = ['queue', 'relay_mode', 'ingest_workers', 'relay_workers', 'mqtt_qos', 'tls'];

function variants(run: Run): Record<string, string> {
  return Object.fromEntries(Object.entries(settings(run)).filter(([name]) => VARIANTS.includes(name)));
}

/**
 * Titles of the groups: the traits in which they differ; where these are not enough to tell them apart also what the pipelines do;
 * and at last when their first runs began.
 */
export function titles(groups: readonly Group[]): string[] {
  const firsts = groups.map(([first]) => (first as Recording).run);
  let titles: string[][] = firsts.map(() => []);
  for (const tell of [traits, variants, settings]) {
    const all = firsts.map(tell);
    const names = [...new Set(all.flatMap((one) => Object.keys(one)))].filter(
      (name) => new Set(all.map((one) => one[name])).size > 1,
    );
    const said = (name: string, value = '') =>
      // A number alone says nothing.
      name.startsWith(LABEL) && Number.isFinite(Number.parseFloat(value))
        ? `${name.slice(LABEL.length)} ${value}`
        : value;
    titles = titles.map((words, i) => [
      ...new Set([...words, ...names.flatMap((name) => said(name, all[i]?.[name]) || [])]),
    ]);
    if (new Set(titles.map(String)).size === titles.length) break;
  }
  const alike = (words: string[]) => titles.filter((other) => String(other) === String(words)).length > 1;
  return titles.map((words, i) =>
    (words.length === 0 || alike(words) ? [...words, began(firsts[i])] : words).join(', '),
  );
}

const began = (run: Run | undefined) => instant(run?.run.started ?? '');

/**
 * Whose latencies and rates count: of repeats those that can be trusted, if there are any. What a late generator made slower is left out,
 * and told. A run that was cut off is not, nor one whose account is open: that may be the pipeline's doing.
 */
export function counted(group: Group): Group {
  const trusted = group.filter(({ run }) => verdict(run).result !== 'invalid' || !balance(run.account).holds);
  return trusted.length > 0 ? trusted : group;
}

/** Why a group can't be held against the baseline; null: it can. */
export function obstacle(baseline: Group, group: Group): string | null {
  const own = unfit(group);
  if (own !== null) return `not comparable: ${own}`;
  if (group === baseline) return null;
  const its = unfit(baseline);
  if (its !== null) return `not comparable: the baseline’s ${its}`;
  const loads = new Set([...baseline, ...group].map(({ run }) => load(run)));
  return loads.size > 1 ? OTHER_PROFILE : null;
}

/** Why the latencies and rates of a group say nothing; null: they do. */
export function unfit(group: Group): string | null {
  for (const { run } of group) {
    const { result } = verdict(run);
    if (!balance(run.account).holds || result === 'invalid') return 'run is invalid';
    if (result === 'incomplete') return 'run is incomplete';
  }
  return null;
}

/**
 * Why the counts of a group say nothing; null: they do. Those of a run that is invalid are exact; of one that was cut off nobody has
 * looked for what had not arrived.
 */
export function uncounted(group: Group): string | null {
  for (const { run } of group) {
    if (!balance(run.account).holds) return 'its account does not balance';
    if (verdict(run).result === 'incomplete') return 'run is incomplete';
  }
  return null;
}

/**
 * Names, labels, settings and facts of the environment in which the groups differ, or the runs of a group. Every CI job is another
 * one: that is no difference.
 */
export function differing(groups: readonly Group[]): { name: string; values: string[] }[] {
  const facts = groups.map((group) => group.map(({ run }) => factsOf(run)));
  const names = [...new Set(facts.flat().flatMap((one) => Object.keys(one)))];
  return names
    .map((name) => ({
      name,
      values: facts.map((group) => [...new Set(group.map((one) => one[name] ?? '–'))].join(' / ')),
    }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** Settings first: they are what somebody chose. */
function factsOf(run: Run): Record<string, string> {
  const { pipeline, ci: _, ...machine } = run.environment;
  return {
    ...traits(run),
    ...flat(pipeline ?? {}),
    'tool version': run.run.tool.version ?? '–',
    ...flat(machine),
    'arrivals by': arrivals(run),
  };
}

/** A few arrivals by the other are no difference that a figure shows. */
const FEW = 0.05;

/** What arrivals were taken from: by the read they have what a slow reader adds, by the kernel's stamp they do not. */
function arrivals({ health: { arrival_stamps: stamps } }: Run): string {
  const all = (stamps?.kernel ?? 0) + (stamps?.read ?? 0);
  if (stamps === undefined) return 'the read'; // an earlier version
  if (all === 0) return '–';
  const share = stamps.kernel / all;
  if (share <= FEW) return 'the read';
  return share >= 1 - FEW ? 'the kernel’s stamp' : `the kernel’s stamp (${percent(share)}) and the read`;
}

/** Facts below one another by the path of their names. */
function flat(value: unknown, path = ''): Record<string, string> {
  if (value === null || typeof value !== 'object') return path === '' ? {} : { [path]: `${value ?? '–'}` };
  return Object.assign(
    {},
    ...Object.entries(value).map(([name, inner]) => flat(inner, path === '' ? name : `${path}.${name}`)),
  );
}
