/** What a run is worth that several instances have done together: what its worst part is. */
import { isOpen, limited, rulesOf } from '../rules.ts';
import type { Account, GeneratorResult, Rule, Verdict, VerdictResult } from '../run.ts';
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

/**
 * The rules of all parts, and those that hold for the parts together.
 * @param account of all parts together
 */
export function verdictOf(parts: readonly [Part, ...Part[]], account: Account): Verdict {
  const told: { worth: VerdictResult; reason: string }[] = [];
  const rules: Rule[] = [];
  const tell = (worth: VerdictResult, reason: string) => told.push({ worth, reason });
  const rule = (name: string, result: VerdictResult, reason: string) => {
    rules.push({ ...FACT, name, result, reason });
    tell(result, reason);
  };
  const { of } = parts[0].generator;
  for (const { number, segment } of missing(parts)) {
    const gone = `generator ${number} of ${of} (${segment}) is missing, and what it sent is not in the account`;
    rule('finished', 'incomplete', gone);
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
    const own = rulesOf(run);
    rules.push(...own.map((one) => ({ ...one, generator: generator.number })));
    for (const reason of run.verdict.reasons) {
      const cut = !isWhole(part) && reason === run.verdict.reasons[0];
      if (!cut) tell(run.verdict.result, `${who}: ${reason}`);
    }
    const open = own.filter(isOpen).map(limited);
    if (isWhole(part) && run.verdict.result === 'pass' && open.length > 0) {
      tell('incomplete', `${who}: not judged: ${open.join(', ')}`);
    }
    // A part that gives no reason is worth no more for it.
    if (run.verdict.result !== 'pass' && run.verdict.reasons.length === 0) {
      tell(run.verdict.result, `${who}: ${run.verdict.result}`);
    }
  }
  const requests = requestsOf(parts[0].run.run);
  if (
    parts.length === of &&
    parts.every(isWhole) &&
    requests !== null &&
    account.requests.scheduled !== requests
  ) {
    const own = account.requests.scheduled;
    rule('requests', 'invalid', `the parts have ${own} requests together, and the profile has ${requests}`);
  }
  if (!account.balanced) rule('balanced', 'invalid', 'the account does not balance');
  // What decides stands first.
  told.sort((a, b) => WORST.indexOf(b.worth) - WORST.indexOf(a.worth));
  const stands = parts.every(
    ({ run: { verdict } }) => verdict.result === 'pass' || verdict.stands?.length === 1,
  );
  const result = told[0]?.worth ?? 'pass';
  return {
    result,
    reasons: told.map(({ reason }) => reason),
    rules,
    stands: result === 'invalid' && stands ? ['http'] : [],
  };
}

/** Something that is not as it should be. */
const FACT = { value: null, op: '', limit: null, unit: '', ok: false, basis: '' };
