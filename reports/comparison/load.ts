/** The planned load of a run, the limits on it, and the settings of its command. Pure. */
import type { Run } from '../contract/run.ts';
import { count, figure, plural } from '../format.ts';
import { limitText } from '../rules.ts';

/** What decides whether two runs have the same load: all of the plan but the name of its file. */
export function load({ run }: Pick<Run, 'run'>): string {
  const phases = run.profile.phases.map((p) => [
    p.name,
    p.duration_s,
    p.arrival_rate,
    p.ramp_to,
    p.vus,
    p.measured,
    p.requests,
  ]);
  const flows = run.profile.flows.map((f) => [f.name, f.weight, f.messages, f.deliveries, f.payload_bytes]);
  return JSON.stringify([run.model, phases, flows]);
}

/** The highest rate or concurrency: 500 requests/s, 16 VUs. Empty: not known. */
export function loadText({ profile: { phases } }: Pick<Run['run'], 'profile'>): string {
  const rate = highest(phases.flatMap((one) => [one.arrival_rate ?? 0, one.ramp_to ?? 0]));
  const vus = highest(phases.map((one) => one.vus ?? 0));
  return rate > 0 ? `${figure(rate)} requests/s` : vus > 0 ? plural(vus, 'VU') : '';
}

/** The highest of a list of any length. */
function highest(values: number[]): number {
  return values.reduce((a, b) => Math.max(a, b), 0);
}

/** All of {@link load} in words, by name. */
export function loadFacts({ run }: Pick<Run, 'run'>): Record<string, string> {
  const { phases, flows } = run.profile;
  return {
    load: loadText(run) || 'none',
    model: run.model,
    phases: phases.map(phaseText).join('; '),
    flows: flows.map(flowText).join('; '),
  };
}

function phaseText(phase: Run['run']['profile']['phases'][number]): string {
  const { name, duration_s, arrival_rate, ramp_to, vus, requests, measured } = phase;
  const rate = ramp_to === null ? figure(arrival_rate) : `${figure(arrival_rate)} to ${figure(ramp_to)}`;
  const much = vus === null ? `${rate} requests/s` : plural(vus, 'VU');
  const long = requests === undefined ? `${figure(duration_s)} s` : plural(requests, 'request');
  return `${name} ${long} of ${much}${measured ? '' : ' (not measured)'}`;
}

function flowText(flow: Run['run']['profile']['flows'][number]): string {
  const { name, weight, messages, deliveries, payload_bytes } = flow;
  const bytes = payload_bytes === undefined ? 'random payloads' : `${count(payload_bytes)} bytes`;
  return `${name} (weight ${weight}): ${plural(messages, 'message')} of ${bytes}, ${plural(deliveries, 'delivery', 'deliveries')} each`;
}

/** How the loads of runs differ, in a few words: 1,500 | 500 requests/s; else the parts of the plan that differ. */
export function loadsApart(a: Run, b: Run): string {
  const [one, other] = [loadFacts(a), loadFacts(b)];
  const names = Object.keys(one).filter((name) => one[name] !== other[name]);
  const [x = '', y = ''] = [one.load, other.load];
  if (x === y) return names.join(' and ');
  const [, unit] = / (\S+)$/.exec(x) ?? [];
  return unit !== undefined && y.endsWith(` ${unit}`)
    ? `${x.slice(0, -unit.length - 1)} | ${y}`
    : `${x} | ${y}`;
}

/** The limits that a script sets, by the names of their figures: `limit of arrival_p99`. */
export function limitFacts(run: Run): Record<string, string> {
  const set = run.verdict.rules.filter(({ result, basis }) => result === 'fail' && basis === '');
  return Object.fromEntries(set.map((rule) => [`limit of ${rule.name}`, limitText(rule)]));
}

const SETTING = /(?<!\S)(?:-e ?)?(?:'([A-Z]\w*)=([^']*)'|([A-Z]\w*)=((?:'[^']*'|[^\s'])*))/g;

/** What a command sets: `P99=0.1 npm run ramp -- -e 'SALT=a b'`. */
export function settingsOf({ command }: Pick<Run['run'], 'command'>): [name: string, value: string][] {
  return [...(command ?? '').matchAll(SETTING)].map(([, whole, text, name, value]) =>
    whole === undefined ? [name ?? '', (value ?? '').replaceAll("'", '')] : [whole, text ?? ''],
  );
}

/** Settings that the load and the labels say, and directories and ports, which explain no latency. */
export const SAID = /^(RATE|LABELS|RUN_DIR|RUN_ID|\w*DURATION|\w+_PORT)$/;
