/** One run of what several instances have left that did it together. Pure. */

import { sumOfAccounts } from '../account.ts';
import type { Canary, Clock, Flow, Health, Resource, Run, Step, Targets } from '../run.ts';
import { addBriefs, mergeLatencies, mergeLatency } from './latencies.ts';
import { ordered, type Part } from './parts.ts';
import { mergeSeconds, most } from './seconds.ts';
import { resultsOf, verdictOf } from './verdict.ts';

/**
 * @param name of the run's directory
 * @returns run.json of all, and their histogram log
 * @throws an error of one line if the parts are not of one run
 */
export function mergeRuns(given: readonly Part[], name: string): { run: Run; log: string } {
  const parts = ordered(given);
  const runs = parts.map(({ run }) => run) as [Run, ...Run[]];
  const [first] = runs;
  const account = sumOfAccounts(runs.map((run) => run.account));
  const { timeline, log } = mergeSeconds(parts);
  // The pipeline's processes have told all instances the same: the one that listened longest knows most of them.
  const told = parts.reduce((a, b) => (b.run.resources.length > a.run.resources.length ? b : a));
  const resources = [
    ...told.run.resources.filter(({ process }) => process !== first.run.tool.name),
    ...own(parts),
  ];
  const ends = runs.map(({ run }) => run.ended).filter((ended) => ended !== null);
  const run: Run = {
    schema: first.schema,
    run: {
      ...first.run,
      name,
      generator: null,
      ended: ends.length === parts[0].generator.of ? ([...ends].sort().at(-1) ?? null) : null,
    },
    verdict: verdictOf(parts, account),
    account,
    clock: mergeClocks(runs),
    health: mergeHealth(parts),
    latency: mergeLatencies(runs.map(({ latency }) => latency)),
    canary: mergeCanaries(runs.flatMap(({ canary }) => canary ?? [])),
    generators: resultsOf(parts),
    steps: mergeSteps(parts, resources),
    figures: parts.flatMap(({ run: { figures = [] }, generator }) =>
      figures.map((figure) => ({ ...figure, generator: generator.number })),
    ),
    flows: first.flows.map((flow, i) =>
      mergeFlows(
        flow,
        runs.flatMap(({ flows }) => flows[i] ?? []),
      ),
    ),
    timeline,
    resources,
    errors: mergeErrors(runs),
    environment: mergeEnvironments(runs),
    targets: mergeTargets(runs),
  };
  return { run, log };
}

/** What the generators themselves used, each under a name of its own. */
function own(parts: readonly Part[]): Resource[] {
  return parts.flatMap(({ run, generator }) =>
    run.resources
      .filter(({ process }) => process === run.run.tool.name)
      .map((resource) => ({ ...resource, process: `${resource.process}-${generator.number}` })),
  );
}

/**
 * A stage lies between one generator and the pipeline, so the widest bound of a generator with the pipeline's processes is that of all.
 * Offsets and drifts are each generator's own.
 */
function mergeClocks(runs: readonly Run[]): Clock | null {
  const clocks = runs.flatMap(({ clock }) => clock ?? []);
  const [first] = clocks;
  if (first === undefined) return null;
  const processes = clocks.reduce((a, b) => (b.processes.length > a.processes.length ? b : a)).processes;
  return {
    reference: first.reference,
    offset_ms: null,
    bound_ms: most(clocks.map(({ bound_ms }) => bound_ms)),
    generator_bound_ms: most(clocks.map(({ generator_bound_ms }) => generator_bound_ms)),
    one_host: clocks.every(({ one_host }) => one_host),
    limit_ms: first.limit_ms,
    drift_ppm: null,
    probes: clocks.reduce((sum, { probes }) => sum + probes, 0),
    processes,
  };
}

function mergeHealth(parts: readonly Part[]): Health {
  const all = parts.map(({ run }) => run.health);
  const sent = all.flatMap(({ lateness }) => lateness ?? []);
  const waits = all.flatMap(({ socket_wait }) => socket_wait ?? []);
  const stamps = all.flatMap(({ arrival_stamps }) => arrival_stamps ?? []);
  return {
    ...(sent.length > 0 && { lateness: mergeLatency(sent) }),
    ...(stamps.length > 0 && {
      arrival_stamps: {
        kernel: stamps.reduce((sum, { kernel }) => sum + kernel, 0),
        read: stamps.reduce((sum, { read }) => sum + read, 0),
      },
    }),
    socket_wait: waits.length > 0 ? mergeLatency(waits) : null,
    gaps: parts
      .flatMap(({ run, generator }) =>
        run.health.gaps.map((gap) => ({ ...gap, reason: `generator ${generator.number}: ${gap.reason}` })),
      )
      .sort((a, b) => a.from_s - b.from_s),
    samples_discarded: all.reduce((sum, { samples_discarded }) => sum + samples_discarded, 0),
    trend_one_in: Math.max(...all.map(({ trend_one_in }) => trend_one_in)),
  };
}

function mergeCanaries(canaries: readonly Canary[]): Canary | null {
  const [first] = canaries;
  if (first === undefined) return null;
  return {
    sent: canaries.reduce((total, { sent }) => total + sent, 0),
    arrived: canaries.reduce((total, { arrived }) => total + arrived, 0),
    interval_s: first.interval_s,
    latency: mergeLatency(canaries.map(({ latency }) => latency)),
  };
}

/** Phases by their place: each instance has all of them, as far as it came. */
function mergeSteps(parts: readonly Part[], resources: readonly Resource[]): Step[] {
  const longest = parts.reduce((a, b) => (b.run.steps.length > a.run.steps.length ? b : a)).run.steps;
  return longest.map((step, i) => {
    const there = parts.flatMap(({ run }) => run.steps[i] ?? []);
    const sum = (of: (part: Step) => number) => there.reduce((total, part) => total + of(part), 0);
    const backlogs = there.map(({ backlog }) => backlog ?? null);
    const drained = there.map(({ drained_s }) => drained_s ?? null);
    const start = Math.min(...there.map(({ start_s }) => start_s));
    const duration = Math.max(...there.map(({ start_s, duration_s }) => start_s + duration_s)) - start;
    const [scheduled, accepted, arrived] = [
      sum((part) => part.scheduled),
      sum((part) => part.accepted),
      sum((part) => part.arrived),
    ];
    return {
      name: step.name,
      start_s: start,
      duration_s: duration,
      vus: step.vus === null ? null : sum(({ vus }) => vus ?? 0),
      measured: step.measured,
      requests: sum(({ requests }) => requests),
      scheduled,
      accepted,
      ...(there.every(({ due }) => due !== undefined) && { due: sum(({ due = 0 }) => due) }),
      arrived,
      scheduled_per_s: scheduled / duration,
      accepted_per_s: accepted / duration,
      arrived_per_s: arrived / duration,
      backlog: backlogs.includes(null) ? null : backlogs.reduce((total: number, n) => total + (n ?? 0), 0),
      drained_s: drained.includes(null) ? null : most(drained),
      cpu_percent: cpuBetween(resources, start, start + duration),
      latency: mergeLatencies(there.map(({ latency }) => latency)),
    };
  });
}

/** Mean of what each process said in a span of the run. */
function cpuBetween(resources: readonly Resource[], from: number, to: number): Record<string, number> | null {
  const used = resources.flatMap(({ process, series }): [string, number][] => {
    const told = series.flatMap(([t, cpu]) => (cpu !== null && t >= from && t < to ? [cpu] : []));
    return told.length === 0 ? [] : [[process, told.reduce((a, b) => a + b, 0) / told.length]];
  });
  return used.length === 0 ? null : Object.fromEntries(used);
}

function mergeFlows(flow: Flow, parts: readonly Flow[]): Flow {
  return {
    name: flow.name,
    scheduled: parts.reduce((total, { scheduled }) => total + scheduled, 0),
    arrived: parts.reduce((total, { arrived }) => total + arrived, 0),
    arrival: mergeLatency(parts.map(({ arrival }) => arrival)),
  };
}

/** Where generators have topics of their own, so are their targets. Of one that several have there is no percentile. */
function mergeTargets(runs: readonly Run[]): Targets | null {
  const all = runs.flatMap(({ targets }) => targets ?? []);
  if (all.length < runs.length) return null;
  const rows = new Map<string, TargetRow[]>();
  for (const row of all.flatMap((targets) => targets.rows)) {
    rows.set(row.name, [...(rows.get(row.name) ?? []), row]);
  }
  const others = all.flatMap((targets) => targets.others ?? []);
  const shown = [...rows].map(([name, own]) => ({ name, ...together(own) }));
  const rest = others.reduce((total, { targets }) => total + targets, 0);
  return {
    total: shown.length + rest,
    rows: shown.sort((a, b) => (b.arrival?.p99 ?? 0) - (a.arrival?.p99 ?? 0)),
    others: others.length > 0 ? { targets: rest, ...together(others) } : null,
  };
}

type TargetRow = Targets['rows'][number];

function together(rows: readonly Omit<TargetRow, 'name'>[]): Omit<TargetRow, 'name'> {
  return {
    arrival:
      rows.length === 1
        ? (rows[0]?.arrival ?? null)
        : addBriefs(rows.flatMap(({ arrival }) => arrival ?? [])),
    reordered: rows.reduce((total, { reordered }) => total + reordered, 0),
    lost: rows.reduce((total, { lost }) => total + lost, 0),
  };
}

/** What is the same on all hosts; `generators` has of each what it is judged by. */
function mergeEnvironments(runs: readonly [Run, ...Run[]]): Run['environment'] {
  const all = runs.map(({ environment }) => environment);
  const same = Object.entries(runs[0].environment).map(([name, value]) => {
    const text = JSON.stringify(value);
    return [name, all.every((one) => JSON.stringify(one[name]) === text) ? value : null];
  });
  const shared = all.some(({ shared_host }) => shared_host) || null;
  return { ...Object.fromEntries(same), ...(shared && { shared_host: shared }) };
}

function mergeErrors(runs: readonly Run[]): Run['errors'] {
  const all = new Map<string, Run['errors'][number]>();
  for (const error of runs.flatMap(({ errors }) => errors)) {
    const key = `${error.stage} ${error.class}`;
    const known = all.get(key);
    all.set(key, known ? { ...known, count: known.count + error.count } : error);
  }
  return [...all.values()].sort((a, b) => b.count - a.count);
}
