/** What a run is worth that several instances have done together: what its worst part is. */
import type { Account, GeneratorResult, Run, VerdictResult } from '../run.ts';
import { isWhole, missing, type Part, requestsOf } from './parts.ts';

const WORST: readonly VerdictResult[] = ['pass', 'fail', 'invalid', 'incomplete'];

/** @returns one of each instance that the run should have, in the order of their numbers */
export function resultsOf(parts: readonly [Part, ...Part[]]): GeneratorResult[] {
  const there = parts.map(({ run, generator }): GeneratorResult => {
    const used = run.timeline.flatMap((second) => second.generator?.cpu_percent ?? []);
    return {
      number: generator.number,
      segment: generator.segment,
      result: run.verdict.result,
      reasons: run.verdict.reasons,
      late_ms: generator.late_ms,
      scheduled: run.account.scheduled,
      arrived: run.account.arrived,
      schedule_p99_ms: (run.health.lateness ?? run.latency.stages.schedule).p99,
      socket_wait_p99_ms: run.health.socket_wait?.p99 ?? null,
      cores: run.environment.cores,
      kernel: run.environment.kernel,
      cpu_percent_max: used.length > 0 ? Math.max(...used) : null,
      clock_offset_ms: run.clock?.offset_ms ?? null,
      clock_bound_ms: run.clock?.generator_bound_ms ?? null,
    };
  });
  const gone = missing(parts).map(
    ({ number, segment }): GeneratorResult => ({ number, segment, reasons: [], ...NOTHING }),
  );
  return [...there, ...gone].sort((a, b) => a.number - b.number);
}

const NOTHING = {
  result: 'missing',
  late_ms: null,
  scheduled: null,
  arrived: null,
  schedule_p99_ms: null,
  socket_wait_p99_ms: null,
  cores: null,
  kernel: null,
  cpu_percent_max: null,
  clock_offset_ms: null,
  clock_bound_ms: null,
} as const;

/** @param account of all parts together */
export function verdictOf(parts: readonly [Part, ...Part[]], account: Account): Run['verdict'] {
  const told: { worth: VerdictResult; reason: string }[] = [];
  const tell = (worth: VerdictResult, reason: string) => told.push({ worth, reason });
  const { of } = parts[0].generator;
  for (const { number, segment } of missing(parts)) {
    tell(
      'incomplete',
      `generator ${number} of ${of} (${segment}) is missing, and what it sent is not in the account`,
    );
  }
  for (const part of parts) {
    const { run, generator } = part;
    const who = `generator ${generator.number}`;
    if (!isWhole(part)) {
      const known = (run.timeline.at(-1)?.t ?? -1) + 1;
      tell(
        'incomplete',
        `${who} of ${of} (${generator.segment}) was cut off: its account ends after ${known} s, with ${run.account.scheduled} messages`,
      );
    }
    for (const reason of run.verdict.reasons) {
      const cut = run.verdict.result === 'incomplete' && reason === run.verdict.reasons[0];
      if (!cut) tell(run.verdict.result, `${who}: ${reason}`);
    }
  }
  const requests = requestsOf(parts[0].run.run);
  if (
    parts.length === of &&
    parts.every(isWhole) &&
    requests !== null &&
    account.requests.scheduled !== requests
  ) {
    tell(
      'invalid',
      `the parts have ${account.requests.scheduled} requests together, and the profile has ${requests}`,
    );
  }
  if (!account.balanced) tell('invalid', 'the account does not balance');
  // What decides stands first.
  told.sort((a, b) => WORST.indexOf(b.worth) - WORST.indexOf(a.worth));
  return { result: told[0]?.worth ?? 'pass', reasons: told.map(({ reason }) => reason) };
}
