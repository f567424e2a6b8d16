/** Writes the golden runs: `node reports/test/golden.ts`. */
import { writeFileSync } from 'node:fs';
import { isEntry } from '../../pipeline/shared/entry.ts';
import { type Rule, type Run, STAGES, type Step } from '../contract/run.ts';
import OURS from '../contract/stages.json' with { type: 'json' };
import { count, ms } from '../format.ts';
import { HOSTILE } from './goldens.ts';
import type { Plan } from './offer.ts';
import { simulate } from './simulate.ts';

/** Go makes the others; what is set here, the instrument knows alone. */
const NO_FACTS = { shape: 'other' } as Run['facts'];
const open = { vus: null };
const RAMP: Plan = {
  phases: [
    { ...open, name: 'warm-up', duration_s: 10, arrival_rate: 100, ramp_to: null, measured: false },
    { ...open, name: 'ramp', duration_s: 20, arrival_rate: 100, ramp_to: 1500, measured: true },
    { ...open, name: 'sustained', duration_s: 20, arrival_rate: 1500, ramp_to: null, measured: true },
  ],
  flows: [
    { name: 'direct', weight: 7, messages: 1, deliveries: 1 },
    { name: 'room', weight: 2, messages: 1, deliveries: 5 },
    { name: 'batch', weight: 1, messages: 10, deliveries: 1 },
  ],
  capacity: 25_000,
};
const SMOKE: Plan = {
  ...RAMP,
  phases: [
    { ...open, name: 'warm-up', duration_s: 1, arrival_rate: 50, ramp_to: null, measured: false },
    { ...open, name: 'ramp', duration_s: 2, arrival_rate: 50, ramp_to: 300, measured: true },
    { ...open, name: 'sustained', duration_s: 3, arrival_rate: 300, ramp_to: null, measured: true },
  ],
};
const closed = { arrival_rate: null, ramp_to: null };
/** Beyond the second step, more VUs only wait longer. */
const SWEEP: Plan = {
  ...RAMP,
  ingestCapacity: 1200,
  phases: [
    { ...closed, name: 'warm-up', duration_s: 2, vus: 4, measured: false },
    { ...closed, name: 'one', duration_s: 3, vus: 1, measured: true },
    { ...closed, name: 'few', duration_s: 3, vus: 4, measured: true },
    { ...closed, name: 'many', duration_s: 3, vus: 16, measured: true },
    { ...closed, name: 'most', duration_s: 3, vus: 32, measured: true },
  ],
};
/** The load exceeds the capacity for two seconds. */
const SPIKE: Plan = {
  ...RAMP,
  capacity: 700,
  phases: [
    { ...open, name: 'before', duration_s: 3, arrival_rate: 50, ramp_to: null, measured: true },
    { ...open, name: 'spike', duration_s: 2, arrival_rate: 400, ramp_to: null, measured: true },
    { ...open, name: 'after', duration_s: 5, arrival_rate: 50, ramp_to: null, measured: true },
  ],
};
const FIXED: Plan = {
  ...SWEEP,
  phases: [{ ...closed, name: 'fixed', duration_s: 5, vus: 4, measured: true }],
};
/** Three phases of equal rate and length. */
const SOAK: Plan = {
  ...RAMP,
  phases: ['0:00–0:08', '0:08–0:16', '0:16–0:24'].map((name) => ({
    ...{ ...open, name, duration_s: 8, arrival_rate: 50, ramp_to: null, measured: true },
  })),
};
const DIRECT: Plan['flows'] = [{ name: 'direct', weight: 1, messages: 1, deliveries: 1 }];
/** Each of 900 connections publishes every 6 s. */
const CONNECTIONS: Plan = {
  ...{ capacity: 25_000, flows: DIRECT, direct: true },
  phases: [
    { ...open, name: 'open', duration_s: 6, arrival_rate: 1, ramp_to: 150, measured: true },
    { ...open, name: 'hold', duration_s: 6, arrival_rate: 150, ramp_to: null, measured: true },
  ],
};
const THROUGHPUT: Plan = {
  ...{ capacity: 25_000, flows: DIRECT, direct: true },
  phases: [1, 2, 3, 4].map((vus) => ({
    ...{ ...closed, name: `${vus}`, duration_s: 2, vus, measured: true },
  })),
};
const CAPACITY: Plan = {
  ...{ capacity: 25_000, flows: DIRECT },
  phases: [
    { ...open, name: 'warm-up', duration_s: 3, arrival_rate: 30, ramp_to: 300, measured: false },
    { ...open, name: 'hold', duration_s: 10, arrival_rate: 300, ramp_to: null, measured: true },
  ],
};
const EMPTY: Plan = { ...RAMP, cutAt: 0 };

/** A passing run of a plan; the other goldens change it. */
function run(profile: string, plan: Plan): Run {
  const simulated = simulate(plan);
  return {
    schema: 'arrival/run/1',
    run: {
      id: 'k3v9x2ab',
      name: `${profile}-single-loopback-20261121T094800Z`,
      tool: { name: 'k6', version: '2.2.0' },
      method: profile,
      protocol: 'HTTP',
      model: 'open',
      topology: 'single',
      network: 'loopback',
      labels: {},
      started: '2026-11-21T09:48:00.123Z',
      ended: '2026-11-21T09:48:51.402Z',
      command: `npm run ${profile}`,
      profile: { name: profile, phases: plan.phases, flows: plan.flows },
      generator: null,
    },
    verdict: { result: 'pass', meaning: '', reasons: [], doubts: [], rules: rules(simulated) },
    answer: { sentence: '', p99_limit_ms: null, within_limit: null, held_per_s: null },
    findings: [], // Go makes findings, facts and answer
    facts: NO_FACTS,
    figures: [],
    stages: [...OURS],
    sampled: null,
    knee: null,
    tail: null,
    messages: null,
    clock: {
      reference: 'redis TIME',
      offset_ms: 0,
      bound_ms: 0.019,
      generator_bound_ms: 0.007,
      one_host: true,
      limit_ms: null,
      drift_ppm: 0.2,
      probes: 52,
      processes: [
        { process: 'ingest-1', offset_ms: 0, bound_ms: 0.009 },
        { process: 'relay-1', offset_ms: 0, bound_ms: 0.01 },
      ],
    },
    ...simulated,
    errors: [],
    environment: {
      cpu: 'Intel(R) Xeon(R) Processor @ 2.60GHz',
      cores: 2,
      memory_mb: 24_000,
      kernel: '6.1.0',
      os: 'linux',
      arrival: '0.2.0',
      go: 'go1.26.0',
      shared_host: true,
      pipeline: {
        redis: '7.0.15',
        mosquitto: '2.0.11',
        relay_workers: 1,
        backlog_limit: 100_000,
        tcp_nodelay: true,
      },
      git: null,
      ci: null,
    },
  };
}

/** The rules of internal/judge for a passing run, with two limits of a script. */
function rules({
  account,
  health,
  latency,
  timeline,
}: Pick<Run, 'account' | 'health' | 'latency' | 'timeline'>): Rule[] {
  const rule = (
    name: string,
    value: number | null,
    limit: number,
    unit: string,
    more: Partial<Rule> = {},
  ): Rule => ({
    ...{ name, value, op: '<=', limit, unit, ok: true, result: 'doubt', basis: '', reason: '' },
    ...{ part: 'pipeline', ...more },
  });
  const late = { basis: '5 % of arrival p99, no less than 2 ms' };
  const fail: Partial<Rule> = { result: 'fail' };
  return [
    ...(health.lateness ? [rule('lateness', health.lateness.p99, 2, 'ms', late)] : []),
    ...(health.socket_wait ? [rule('socket_wait', health.socket_wait.p99, 2, 'ms', late)] : []),
    rule('cpu', 0, 0.05 * timeline.length, 's', { basis: '5 % of the seconds may be above 90 % of 2 cores' }),
    rule('dropped', account.dropped, 0, 'messages', { result: 'invalid' }),
    rule('samples_discarded', 0, 0, 'samples', { doubts: [{ claim: 'samples', direction: 'either' }] }),
    rule('gaps', health.gaps.length, 0, '', {
      part: 'receiving',
      remedy: 'a subscriber lost its connection. Find out why, and run again',
      doubts: [{ claim: 'arrival', direction: 'too_high' }],
    }),
    rule('negative', account.negative, Math.floor(0.01 * account.deliveries.arrived), 'deliveries', {
      basis: '1 % of the deliveries',
    }),
    rule('lost', account.lost, 0, 'messages', fail),
    rule('arrival_p99', latency.arrival.p99, 250, 'ms', { op: '<', ...fail }),
    rule('http_req_failed rate', 0, 0.01, '', { op: '<', ...fail }),
  ];
}

/** Replaces the arrival_p99 limit of {@link rules} by limits of a script. */
function limited(run: Run, own: Pick<Rule, 'name' | 'value' | 'op' | 'limit' | 'unit'>[]): void {
  const rest = run.verdict.rules?.filter(({ name }) => name !== 'arrival_p99') ?? [];
  const more = { ok: true, result: 'fail' as const, basis: '', reason: '', part: 'pipeline' as const };
  run.verdict.rules = [...rest, ...own.map((rule) => ({ ...rule, ...more }))];
}

/** Sets the outcome of the named rules, or of all. */
function judged(run: Run, ok: boolean | null, names?: readonly string[]): void {
  for (const rule of run.verdict.rules) {
    if (names === undefined || names.includes(rule.name)) Object.assign(rule, { ok });
  }
}

function failing(): Run {
  const golden = run('ramp', { ...RAMP, capacity: 2_400, lossBetween: [35, 35.08] });
  golden.verdict.result = 'fail';
  golden.verdict.reasons = [
    `lost: ${golden.account.lost} of ${count(golden.account.scheduled)} messages were accepted and never arrived`,
    `arrival p99 ${ms(golden.latency.arrival.p99)} ms, limit < 250 ms`,
  ];
  judged(golden, false, ['lost', 'arrival_p99']);
  Object.assign(golden.account, { duplicates: 14, reordered: 41 });
  golden.errors = [
    { stage: 'relay', class: 'ECONNRESET', count: 1, example: 'read ECONNRESET 127.0.0.1:11883' },
    { stage: 'relay', class: 'reconnect', count: 1, example: null },
  ];
  golden.run.labels = { build: 'relay-serial', ticket: '118' };
  return golden;
}

/** The ingest refuses 90 % of the requests; the other messages arrive. */
function refusing(): Run {
  const golden = run('ramp', { ...RAMP, refuses: 0.9 });
  const { rejected } = golden.account;
  Object.assign(golden.verdict, { result: 'fail', reasons: [`rejected: ${count(rejected)} messages`] });
  const none = {
    op: '<=' as const,
    limit: 0,
    unit: 'messages',
    basis: '',
    reason: '',
    part: 'pipeline' as const,
  };
  golden.verdict.rules?.push({ ...none, name: 'rejected', value: rejected, ok: false, result: 'fail' });
  golden.errors = [
    { stage: 'request', class: 'HTTP 503', count: golden.account.rejected, example: 'status 503' },
  ];
  golden.run.labels = { build: 'refusing' };
  return golden;
}

function incomplete(): Run {
  const golden = run('ramp', { ...RAMP, cutAt: 23.4 });
  golden.run.ended = null;
  Object.assign(golden.verdict, { result: 'incomplete', reasons: ['the run was cut off at 0:23 of 0:50'] });
  judged(golden, null);
  return golden;
}

/** A run in its first second, without figures. */
/** A run's own clock, before it has asked Redis. */
const UNPROBED: NonNullable<Run['clock']> = {
  ...{ reference: 'monotonic', offset_ms: 0, bound_ms: 0, generator_bound_ms: 0, one_host: false },
  ...{ limit_ms: null, drift_ppm: 0, probes: 0, processes: [] },
};

function started(): Run {
  const golden = run('ramp', EMPTY);
  golden.run.ended = null;
  golden.run.command = null;
  Object.assign(golden.verdict, { result: 'incomplete', reasons: ['The run has not ended.'] });
  judged(golden, null);
  golden.clock = { ...UNPROBED };
  golden.resources = [];
  golden.environment = {
    ...{ cpu: null, cores: null, memory_mb: null, kernel: null, os: null, go: null, shared_host: null },
    ...{ arrival: null, pipeline: null, git: null, ci: null },
  };
  return golden;
}

function unbalanced(): Run {
  const golden = run('smoke', SMOKE);
  golden.account.arrived -= 37;
  golden.account.balanced = false;
  golden.verdict.result = 'invalid';
  golden.verdict.reasons = ['The account does not balance: 37 messages have no end.'];
  return golden;
}

/** A run of a pipeline with stages of its own. */
function ownStages(): Run {
  const names: Record<string, string> = { ingest: 'api', queue: 'outbox', relay: 'worker', delivery: 'push' };
  const renamed = JSON.parse(JSON.stringify(run('ramp', RAMP)), (_, value) =>
    value?.schedule === undefined
      ? value
      : Object.fromEntries(Object.entries(value).map(([name, of]) => [names[name] ?? name, of])),
  ) as Run;
  const marks = ['due', 'sent', 'stamp 1', 'stamp 2', 'stamp 3', 'stamp 4', 'arrived'];
  const stages = STAGES.map((name, i) => ({
    name: names[name] ?? name,
    from: marks[i] as string,
    to: marks[i + 1] as string,
    says: i === 0 ? 'the generator was late' : '',
    crosses_hosts: i > 0,
  }));
  return { ...renamed, stages };
}

function withoutStages(): Run {
  const golden = run('smoke', { ...SMOKE, withoutStages: true });
  golden.clock = {
    reference: 'monotonic',
    offset_ms: 0,
    bound_ms: 0,
    generator_bound_ms: 0,
    one_host: false,
    limit_ms: null,
    drift_ppm: null,
    probes: 0,
    processes: [],
  };
  golden.health.socket_wait = null;
  golden.canary = null;
  golden.timeline = golden.timeline.map((second) => ({ ...second, canary_ms: null }));
  golden.run.topology = 'own';
  golden.run.network = 'lan';
  golden.run.name = 'smoke-own-lan-20261121T094800Z';
  golden.environment.shared_host = false;
  golden.resources = golden.resources.filter(({ process }) => process === 'k6');
  return golden;
}

/** A subscriber has no connection for more than a second: its messages arrive late. */
function gap(): Run {
  const golden = run('smoke', { ...SMOKE, gap: { subscriber: 2, from_s: 3.24, to_s: 4.61 } });
  golden.verdict.result = 'invalid';
  golden.verdict.reasons = ['Subscriber 2 had no connection for 1.4 s: what waited for it arrived late.'];
  golden.account.requests.retried = 3;
  golden.health.samples_discarded = 12;
  golden.health.trend_one_in = 10;
  if (golden.clock) Object.assign(golden.clock, { one_host: false, limit_ms: 0.01, drift_ppm: -1.4 });
  const bound = {
    name: 'clock_bound',
    value: 0.019,
    op: '<=' as const,
    limit: 0.01,
    unit: 'ms',
    basis: '',
    reason: '',
  };
  golden.verdict.rules?.push({
    ...bound,
    ok: false,
    result: 'invalid',
    part: 'pipeline',
    doubts: [{ claim: 'stages', direction: 'either' }],
  });
  judged(golden, false, ['gaps', 'samples_discarded']);
  judged(golden, null, ['arrival_p99']);
  const p99 = golden.verdict.rules.find(({ name }) => name === 'arrival_p99');
  if (p99) Object.assign(p99, { undecided: true, doubted_by: ['gaps'], reason: golden.verdict.reasons[0] });
  return golden;
}

function closedModel(): Run {
  const golden = run('sweep', SWEEP);
  golden.run.model = 'closed';
  golden.run.ended = '2026-11-21T09:48:14.219Z';
  golden.knee = { vus: 4, next: 16, stage: 'request' };
  golden.figures = [
    { name: 'time to drain', value: 0.3, unit: 's' },
    { name: 'time until p99 is back', value: null, unit: 's' },
  ];
  return golden;
}

function spike(): Run {
  const golden = run('spike', SPIKE);
  golden.facts = { ...NO_FACTS, question: { kind: 'recovery' } };
  golden.figures = [
    { name: 'time to drain', value: 1, unit: 's' },
    { name: 'time until p99 is back', value: 1, unit: 's' },
  ];
  const arrived = golden.steps.map((step) => (step.name === 'spike' ? { ...step, arrived_99_s: 2.4 } : step));
  golden.steps = arrived;
  const held = {
    op: '<',
    unit: '',
    ok: true,
    result: 'fail',
    basis: '',
    reason: '',
    part: 'pipeline',
  } as const;
  golden.verdict.rules?.push(
    { ...held, name: 'spike_drain_s', value: 1, limit: 5 },
    { ...held, name: 'spike_p99_back_s', value: 1, limit: 5 },
  );
  return golden;
}

function soak(): Run {
  const golden = run('soak', SOAK);
  const [from, to] = [
    { from_s: 6, to_s: 12 },
    { from_s: 18, to_s: 24 },
  ];
  const ms = { from_ms: 2.29, to_ms: 2.4, grew_ms: 0.11, grew_share: 0.048 };
  const drift = { ...ms, from_samples: 810, to_samples: 810, from, to };
  golden.facts = { ...NO_FACTS, question: { kind: 'steadiness' }, drift };
  golden.figures = [
    { name: 'memory of k6, change', value: 2.4, unit: 'MB' },
    { name: 'p99, change', value: 0.11, unit: 'ms' },
  ];
  limited(golden, [
    { name: 'soak_memory_growth_mb', value: 2.4, op: '<', limit: 32, unit: '' },
    { name: 'soak_latency_drift_ms', value: 0.11, op: '<', limit: 50, unit: '' },
  ]);
  return golden;
}

/** Three of 900 connections are missing. */
function connections(): Run {
  const golden = run('connections', CONNECTIONS);
  const counts = { wanted: 900, held: 897, lost: 0, missing: 3, all: 900, brokers: 1, canary_missing: 0 };
  const held = { ...counts, during: { from_s: 6, to_s: 12 }, costs: [] };
  golden.facts = { ...NO_FACTS, question: { kind: 'connections' }, connections: held };
  golden.run.protocol = 'MQTT';
  golden.figures = [
    { name: 'connections wanted', value: 900, unit: '' },
    { name: 'connections held', value: 897, unit: '' },
    { name: 'canary p99', value: 1.32, unit: 'ms' },
  ];
  golden.verdict.result = 'fail';
  golden.verdict.reasons = ['connections missing 3, limit = 0'];
  limited(golden, [
    { name: 'connections_missing', value: 3, op: '==', limit: 0, unit: '' },
    { name: 'connections_canary_p99_ms', value: 1.32, op: '<', limit: 50, unit: '' },
  ]);
  judged(golden, false, ['connections_missing']);
  const broker = golden.resources.find(({ process }) => process === 'mosquitto');
  if (broker) {
    const clients = golden.timeline.map(({ t }) => Math.min(897, 150 * (t + 1)));
    broker.figures = { bin_s: 1, t: golden.timeline.map(({ t }) => t), counts: {}, gauges: { clients } };
  }
  return golden;
}

function throughput(): Run {
  const golden = run('throughput', THROUGHPUT);
  golden.facts = { ...NO_FACTS, question: { kind: 'exchange' } };
  golden.run.model = 'closed';
  golden.run.protocol = 'MQTT';
  golden.health.lateness = null;
  golden.canary = null;
  golden.timeline = golden.timeline.map((second) => ({ ...second, canary_ms: null }));
  golden.figures = [
    { name: 'all clients together, at most', value: 7879, unit: 'messages/s' },
    { name: 'with', value: 4, unit: 'clients' },
  ];
  limited(golden, []);
  return golden;
}

/** The rates of the search: doubled until one does not hold, then halved. */
const RATES = [75, 150, 300, 600, 424, 357, 327, 300];
function capacity(): Run {
  const golden = run('capacity', CAPACITY);
  const { p99 } = golden.latency.arrival;
  golden.figures = [
    { name: 'backlog grows by', value: 0, unit: '% of the rate' },
    { name: 'highest rate that held', value: RATES.at(-1) ?? 0, unit: 'requests/s' },
  ];
  golden.probes = RATES.map((rate, i) => ({
    rate,
    seconds: i < RATES.length - 1 ? 4 : 15,
    held: rate <= (RATES.at(-1) ?? 0),
    p99_ms: rate > 300 ? 480 : p99,
  }));
  limited(golden, [
    { name: 'arrival_p99', value: p99, op: '<', limit: 100, unit: 'ms' },
    { name: 'backlog_growth', value: 0, op: '<', limit: 0.02, unit: '' },
  ]);
  return golden;
}

function fixed(): Run {
  const golden = run('fixed', FIXED);
  golden.run.model = 'closed';
  golden.health.lateness = null;
  return golden;
}

/** Three instances, each with a third of the load. */
function three(): Run {
  const golden = run('smoke', SMOKE);
  const third = (n: number) => Math.round(n / 3);
  // internal/judge lists the rules of a merged run like this: those of each instance, then the script's of all together.
  const own = golden.verdict.rules.flatMap((rule) =>
    [1, 2, 3].map((generator) => ({
      ...rule,
      generator,
      limit: rule.name === 'negative' ? Math.floor((rule.limit ?? 0) / 3) : rule.limit,
    })),
  );
  golden.verdict.rules = [
    ...own,
    ...golden.verdict.rules.filter(({ name }) => /^(lost|arrival_p99)$/.test(name)),
  ];
  golden.generators = [1, 2, 3].map((number) => ({
    number,
    segment: `${number - 1}/3:${number}/3`,
    result: 'pass',
    reasons: [],
    late_ms: 0,
    scheduled: third(golden.account.scheduled),
    arrived: third(golden.account.arrived),
    schedule_p99_ms: 0.2 * number,
    socket_wait_p99_ms: 0.1,
    cores: 2,
    kernel: '6.1.0',
    cpu_percent_max: 12 + number,
    clock_offset_ms: 0.01 * number,
    clock_bound_ms: 0.02,
  }));
  return golden;
}

/** A finished run with a limit that was not judged. */
function unjudged(): Run {
  const golden = run('smoke', SMOKE);
  Object.assign(golden.verdict, {
    result: 'incomplete',
    reasons: ['not judged: http_req_failed rate < 0.01'],
  });
  judged(golden, null, ['http_req_failed rate']);
  return golden;
}

function hostile(): Run {
  const golden = run('smoke', SMOKE);
  const rename = (step: Step) => ({ ...step, name: HOSTILE });
  Object.assign(golden.run, {
    name: HOSTILE,
    method: HOSTILE,
    command: HOSTILE,
    labels: { [HOSTILE]: HOSTILE, '../..': '../../etc/passwd' },
  });
  golden.run.profile.name = HOSTILE.repeat(50);
  const hostileRule = {
    name: HOSTILE,
    value: 1,
    op: '<' as const,
    limit: 1,
    unit: HOSTILE,
    basis: HOSTILE,
    reason: HOSTILE,
  };
  golden.verdict = {
    ...golden.verdict,
    result: 'fail',
    reasons: [HOSTILE],
    rules: [{ ...hostileRule, ok: false, result: 'fail', part: 'pipeline' }],
  };
  golden.figures = [{ name: HOSTILE, value: 1, unit: HOSTILE }];
  golden.environment.pipeline = { [HOSTILE]: HOSTILE };
  golden.steps = golden.steps.map(rename);
  golden.flows = golden.flows.map((flow) => ({ ...flow, name: HOSTILE }));
  const rows =
    golden.targets?.rows.map((row, i) => ({ ...row, name: HOSTILE.repeat(i === 0 ? 200 : 1) })) ?? [];
  golden.targets = {
    total: 1e5,
    rows,
    others: { targets: 1e5 - rows.length, arrival: null, reordered: 0, lost: 0 },
  };
  golden.timeline = golden.timeline.map((second) => ({ ...second, phase: HOSTILE }));
  golden.resources = golden.resources.map((resource) => ({ ...resource, process: HOSTILE }));
  golden.errors = [{ stage: HOSTILE, class: HOSTILE, count: 1, example: 'x'.repeat(10_000) }];
  golden.environment = { ...golden.environment, cpu: HOSTILE, [HOSTILE]: HOSTILE };
  golden.clock?.processes.push({ process: HOSTILE, offset_ms: 0, bound_ms: 0.01 });
  golden.health.gaps = [{ subscriber: 0, from_s: 2, to_s: null, reason: HOSTILE }];
  return golden;
}

const goldens = {
  passing: run('ramp', RAMP),
  failing,
  refusing,
  incomplete,
  started,
  unbalanced,
  withoutStages,
  ownStages,
  gap,
  closed: closedModel,
  spike,
  fixed,
  soak,
  connections,
  throughput,
  capacity,
  three,
  unjudged,
  hostile,
};

if (isEntry(import.meta)) {
  for (const [name, golden] of Object.entries(goldens)) {
    const data = typeof golden === 'function' ? golden() : golden;
    const file = name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
    writeFileSync(new URL(`../testdata/${file}.json`, import.meta.url), `${JSON.stringify(data)}\n`);
  }
}
