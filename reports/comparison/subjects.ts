/** Groups runs into repeats, names the groups, and decides which can be compared. */

import type { Run } from '../contract/run.ts';
import { commit, instant, percent } from '../format.ts';
import { OTHER_LOAD } from './comparison.ts';
import { isUnusable } from './doubts.ts';
import { limitFacts, load, loadFacts, loadsApart, SAID, settingsOf } from './load.ts';
import type { Group, Recording } from './recording.ts';

/** More could not be distinguished in a chart. */
export const MOST_SUBJECTS = 6;

/**
 * Groups repeats: runs with the same load, tool, pipeline, names and labels. When all runs are alike, each is a group.
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

/** The names and labels that a user gave a run. */
function traits({ run }: Run): Record<string, string> {
  return {
    tool: run.tool.name,
    method: run.method,
    topology: run.topology,
    network: run.network,
    ...Object.fromEntries(Object.entries(run.labels).map(([name, value]) => [LABEL + name, value])),
  };
}

/** Facts of the pipeline's host, which are not settings. */
export const NO_SETTINGS = ['host_figures', 'mqtt_open_files'];

/** The settings and versions of the run's pipeline. */
function settings({ environment: { pipeline } }: Run): Record<string, string> {
  const facts = Object.entries(pipeline ?? {}).filter(([name]) => !NO_SETTINGS.includes(name));
  return Object.fromEntries(facts.map(([name, value]) => [name, `${name} ${value}`]));
}

/** The best known settings, for titles. */
const VARIANTS = ['queue', 'relay_mode', 'ingest_workers', 'relay_workers', 'mqtt_qos', 'tls'];

function variants(run: Run): Record<string, string> {
  return Object.fromEntries(Object.entries(settings(run)).filter(([name]) => VARIANTS.includes(name)));
}

/**
 * Titles of the groups: their traits that differ; if these do not distinguish them, also settings; at last the start of their first
 * runs.
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
      // A number needs its label.
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
 * The runs of a group whose latencies and rates count: without invalid ones, if others are left. Incomplete runs and open accounts
 * count, as the pipeline may be the cause.
 */
export function counted(group: Group): Group {
  const trusted = group.filter(({ run }) => run.verdict.result !== 'invalid' || !run.account.balanced);
  return trusted.length > 0 ? trusted : group;
}

/**
 * Why a group cannot be compared with the baseline; null: it can.
 * @param unusable why the compared figures of a group cannot be judged
 */
export function obstacle(baseline: Group, group: Group, unusable = unfit): string | null {
  const own = unusable(group);
  if (own !== null) return `not comparable: ${own}`;
  if (group === baseline) return null;
  const its = unusable(baseline);
  if (its !== null) return `not comparable: the baseline’s ${its}`;
  const [{ run: first }] = baseline as [Recording];
  const other = [...baseline, ...group].find(({ run }) => load(run) !== load(first));
  return other === undefined ? null : `${OTHER_LOAD}: ${loadsApart(first, other.run)}`;
}

/** Why the latencies and rates of a group cannot be judged; null: they can, as far as each is not in doubt. */
export function unfit(group: Group): string | null {
  for (const { run } of group) {
    if (!run.account.balanced || isUnusable(run)) return 'run is invalid';
    if (isIncomplete(run)) return 'run is incomplete';
  }
  return null;
}

/** Whether a run was cut off, also by a limit with abortOnFail, which fails it, or a limit was not judged. */
function isIncomplete({ run, verdict }: Run): boolean {
  return run.ended === null || verdict.result === 'incomplete';
}

/**
 * Why the counts of a group cannot be judged; null: they can. An invalid run has exact counts; an incomplete one has not looked for
 * missing messages.
 */
export function uncounted(group: Group): string | null {
  for (const { run } of group) {
    if (!run.account.balanced) return 'account does not balance';
    if (isIncomplete(run)) return 'run is incomplete';
  }
  return null;
}

/**
 * Names, labels, loads, limits, settings and facts of the environment that differ between groups, or within one. The CI job and the
 * machine's calibration always differ, so they do not count, nor do uncommitted changes to the same commit: they may be of anything.
 */
export function differing(groups: readonly Group[]): { name: string; values: string[] }[] {
  const facts = groups.map((group) => group.map(({ run }) => factsOf(run)));
  const names = [...new Set(facts.flat().flatMap((one) => Object.keys(one)))];
  return names
    .map((name) => ({
      name,
      values: facts.map((group) => [...new Set(group.map((one) => one[name] ?? '–'))].join(' / ')),
    }))
    .filter(({ values }) => new Set(values).size > 1)
    .filter(({ name }, _, all) => name !== 'git.dirty' || all.some((one) => one.name === 'git.commit'));
}

/** Facts of a run, settings first. */
function factsOf(run: Run): Record<string, string> {
  const { pipeline, ci: _, calibration_us: _time, git, ...machine } = run.environment;
  const known = { ...traits(run), ...loadFacts(run), ...limitFacts(run), ...flat(pipeline ?? {}) };
  // What the command sets, unless another fact says it: the limit is P99.
  const given = settingsOf(run.run).filter(
    ([name]) => !SAID.test(name) && name !== 'P99' && !(name.toLowerCase() in known),
  );
  return {
    ...known,
    ...Object.fromEntries(given),
    'tool version': run.run.tool.version ?? '–',
    ...flat(machine),
    ...(git && flat({ ...git, commit: commit(git.commit) }, 'git')),
    'arrivals by': arrivals(run),
  };
}

/** A smaller share of arrivals by the other stamp does not matter. */
const FEW = 0.05;

/** Whether arrivals are by the kernel's stamp, or by the read, which includes the delay of a slow reader. */
function arrivals({ health: { arrival_stamps: stamps } }: Run): string {
  const all = stamps.kernel + stamps.read;
  if (all === 0) return '–';
  const share = stamps.kernel / all;
  if (share <= FEW) return 'the read';
  return share >= 1 - FEW ? 'the kernel’s stamp' : `the kernel’s stamp (${percent(share)}) and the read`;
}

/** Nested facts, flat by path. */
function flat(value: unknown, path = ''): Record<string, string> {
  if (value === null || typeof value !== 'object') return path === '' ? {} : { [path]: `${value ?? '–'}` };
  return Object.assign(
    {},
    ...Object.entries(value).map(([name, inner]) => flat(inner, path === '' ? name : `${path}.${name}`)),
  );
}
