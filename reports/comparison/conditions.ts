/** `--fail-if`: conditions on which a comparison fails. reports/README.md has the grammar. */
import { failures, sumOfAccounts } from '../account.ts';
import { COUNTS } from '../contract/run.ts';
import { against, changeAgainst, exact, plain } from '../format.ts';
import type { Judgement } from './comparison.ts';
import { differenceOf, figureOf } from './differences.ts';
import { type Bounds, doubtOf, end, reachOfGroup } from './doubts.ts';
import {
  hasStage,
  type Measure,
  measureOf,
  RATES,
  SERIES,
  SPANS_STATISTICS,
  STATISTICS,
  spansStages,
  unitOf,
} from './measures.ts';
import type { Group } from './recording.ts';
import { counted, obstacle, uncounted, unfit } from './subjects.ts';

const COMPARATORS = ['>', '>=', '<', '<='] as const;
type Comparator = (typeof COMPARATORS)[number];

export interface Condition {
  text: string;
  measure: Measure;
  comparator: Comparator;
  /** A share of 1 for `share`, and of a share. */
  limit: number;
  /** value: the figure itself; difference, share: its distance from the baseline's. */
  of: 'value' | 'difference' | 'share';
}

/** A malformed condition; the message is one line with the column of the error. */
export class ConditionError extends Error {}

const TOKENS = {
  measure: /[A-Za-z_][\w.-]*(?:\([^)]*\))?/y,
  comparator: /[<>]=?/y,
  sign: /[+\-−]/y,
  number: /\d+(?:\.\d+)?/y,
  unit: /%|ms|\/s/y,
};

/** @throws {ConditionError} */
export function parseCondition(text: string): Condition {
  let at = 0;
  const fail = (what: string, allowed: string, column = at): never => {
    throw new ConditionError(`--fail-if '${text}', column ${column + 1}: ${what}; allowed: ${allowed}`);
  };
  const skip = () => {
    while (text[at] === ' ' || text[at] === '\t') at++;
  };
  const take = (token: keyof typeof TOKENS): string | undefined => {
    skip();
    const pattern = TOKENS[token];
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const no = (what: string) =>
    at < text.length ? `'${text.slice(at).split(/\s/)[0]}' is not a ${what}` : `there is no ${what}`;

  skip();
  const start = at;
  const name = take('measure') ?? fail(no('measure'), 'a measure like arrival.p99');
  const measure = measureOf(name) ?? unknown(name, (what, allowed) => fail(what, allowed, start));
  const comparator = (take('comparator') ?? fail(no('comparison'), COMPARATORS.join(' '))) as Comparator;
  const sign = take('sign');
  const number = Number(take('number') ?? fail(no('number'), '+10% −5ms 250ms 0'));
  skip();
  const unitAt = at;
  const unit = take('unit');
  skip();
  if (at < text.length)
    fail(
      `'${text.slice(at).split(/\s/)[0]}' is not expected here`,
      unit === undefined ? '% or a unit' : 'nothing more',
    );
  const wanted = unitOf(measure);
  if (unit === '%' && wanted !== '%' && sign === undefined) {
    fail('a percentage needs a sign', '+10% or -10%, seen from the baseline', unitAt);
  }
  if (unit !== undefined && unit !== '%' && unit !== wanted) {
    fail(`${unit} is not the unit of ${name}`, ['%', wanted].filter(Boolean).join(' or '), unitAt);
  }
  if (wanted === '%' && unit === undefined) fail('a share is in %', '99.9%');
  const limit = (sign === undefined || sign === '+' ? 1 : -1) * number;
  const of = unit === '%' && wanted !== '%' ? 'share' : sign === undefined ? 'value' : 'difference';
  // Rounded, as 99.9 / 100 is not 0.999 in binary.
  return {
    text,
    measure,
    comparator,
    limit: unit === '%' ? Number((limit / 100).toPrecision(15)) : limit,
    of,
  };
}

function unknown(name: string, fail: (what: string, allowed: string) => never): never {
  const [head = '', tail] = name.split('.');
  if (head === 'spans') {
    const allowed = SPANS_STATISTICS.map((one) => `spans.queued-claimed.${one}`).join(', ');
    return fail(`${name} is not a stage between two marks of spans`, allowed);
  }
  const tails = new Map<string, readonly string[]>([
    ...SERIES.map((series) => [series, STATISTICS] as const),
    ['rate', RATES],
    ['account', COUNTS],
  ]);
  const allowed = tails.get(head);
  if (allowed === undefined) return fail(`${head} is not a measure`, [...tails.keys()].join(', '));
  const what = tail === undefined ? `${head} is not a single figure` : `${head} has no ${tail}`;
  const more = head === 'arrival' ? ['arrival.within(250ms)'] : [];
  return fail(what, [...allowed.map((one) => `${head}.${one}`), ...more].join(', '));
}

/** @throws {ConditionError} if a condition is about a stage that none of the runs has */
function known({ text, measure }: Condition, groups: readonly Group[]): void {
  const runs = groups.flat().map(({ run }) => run);
  if (runs.some((run) => hasStage(run, measure))) return;
  const names = new Set(runs.flatMap((run) => run.stages.map(({ name }) => name)));
  const spans = new Set(runs.flatMap(spansStages).map((name) => `spans.${name}`));
  const allowed = ['arrival', 'from_send', 'http', 'canary', ...names, ...spans, 'rate', 'account'];
  throw new ConditionError(
    `--fail-if '${text}': ${measure.stage ?? `spans.${measure.spans}`} is not a measure of these runs; allowed: ${allowed.join(', ')}`,
  );
}

/** @param sure a condition on a difference holds only when its whole interval exceeds the limit */
export function judge(condition: Condition, groups: readonly Group[], sure: boolean): Judgement[] {
  const [baseline, ...others] = groups;
  if (baseline === undefined) return [];
  known(condition, groups);
  const figures = (group: Group) => (condition.measure.kind === 'count' ? group : counted(group));
  return others.map((group, i) => {
    const judged = judgeOne(condition, figures(baseline), figures(group), sure);
    const runs = condition.of === 'value' ? group : [...baseline, ...group];
    const subject = String.fromCharCode(66 + i);
    return { condition: condition.text, subject, ...letThrough(judged, runs) };
  });
}

type Judged = Pick<Judgement, 'result' | 'detail'>;

/** Fails a passed condition when messages failed, whatever the figures of the others are. */
function letThrough(judged: Judged, runs: Group): Judged {
  const failed = failures(sumOfAccounts(runs.map(({ run }) => run.account)));
  if (judged.result !== 'passed' || failed === null) return judged;
  return { result: 'messages failed', detail: `${judged.detail}; but ${failed}` };
}

function judgeOne(condition: Condition, baseline: Group, group: Group, sure: boolean): Judged {
  const { measure, of } = condition;
  const unjudged = (why: string): Judged => ({ result: 'not judged', detail: why });
  const judged = (value: number, exceeded: boolean, note = ''): Judged => ({
    result: exceeded ? 'exceeded' : 'passed',
    detail: `${shown(value, condition)}${note}`,
  });
  const unusable = measure.kind === 'count' ? uncounted : unfit;
  if (of === 'value') {
    const why = unusable(group);
    if (why !== null) return unjudged(why);
    const value = figureOf(group, measure);
    if (value === null) return unjudged('too few samples');
    const { least, most, by } = reachOfGroup(group, measure);
    const span = { low: end(measure, value, least), high: end(measure, value, most) };
    return inDoubt(condition, span, by) ?? judged(value, holds(value, condition));
  }
  const why = obstacle(baseline, group, unusable);
  if (why !== null) return unjudged(why);
  const difference = differenceOf(baseline, group, measure);
  const value = of === 'share' ? difference?.relative : difference?.absolute;
  if (difference === null || value == null) {
    return unjudged(difference === null ? 'too few samples' : 'there is no percentage of 0');
  }
  const figures = [figureOf(baseline, measure) as number, figureOf(group, measure) as number] as const;
  const doubt = doubtOf(baseline, group, measure);
  const span = of === 'share' ? doubt.around({ low: value, high: value }) : doubt.between(...figures);
  const undecided = inDoubt(condition, span, doubt.by);
  if (undecided !== null) return undecided;
  const { interval } = difference;
  if (interval === null) {
    return sure ? unjudged(difference.why ?? 'it has no interval') : judged(value, holds(value, condition));
  }
  const scale = of === 'share' ? 1 : figures[0];
  const ends = [interval.low * scale, interval.high * scale];
  const note = `, interval ${ends.map((end) => shown(end, condition)).join(' to ')}`;
  if (!sure) return judged(value, holds(value, condition), note);
  const all = ends.every((end) => holds(end, condition));
  return judged(value, all, `${note}; limit ${limitOf(condition)}`);
}

/** A condition that one reading of its figure holds and another one does not; null: both agree. */
function inDoubt(condition: Condition, { low, high }: Bounds, by: string[]): Judged | null {
  if (holds(low, condition) === holds(high, condition)) return null;
  return { result: 'undecided', detail: `${spanText(condition, low, high)} (in doubt: ${by.join(', ')})` };
}

function spanText(condition: Condition, low: number, high: number): string {
  const [least, most] = [low, high].map((end) => (Number.isFinite(end) ? shown(end, condition) : undefined));
  if (least === undefined) return most === undefined ? 'any value' : `at most ${most}`;
  return most === undefined ? `at least ${least}` : `between ${least} and ${most}`;
}

function holds(value: number, { comparator, limit }: Condition): boolean {
  if (comparator === '>') return value > limit;
  if (comparator === '>=') return value >= limit;
  return comparator === '<' ? value < limit : value <= limit;
}

/** A value, or an end of its interval, which never reads like the limit. */
function shown(value: number, { of, measure, limit }: Condition): string {
  if (of === 'share') return plain(changeAgainst(value, limit));
  const scale = measure.kind === 'share' ? 100 : 1;
  const text = plain(against(scale * value, scale * limit, writtenUnit(measure)));
  return of === 'difference' && value > 0 ? `+${text}` : text;
}

/** The limit of a difference, as it was set. */
function limitOf({ of, measure, limit }: Condition): string {
  const share = of === 'share' || measure.kind === 'share';
  const number = exact(Number((share ? 100 * limit : limit).toPrecision(15)));
  return `${limit > 0 ? '+' : ''}${number} ${share ? '%' : writtenUnit(measure)}`.trim();
}

/** Things a second, by the last word of a rate's name. */
const THINGS: Record<string, string> = { requests: 'requests', accepted: 'messages', arrived: 'deliveries' };

function writtenUnit(measure: Measure): string {
  if (measure.kind !== 'rate') return unitOf(measure);
  return `${THINGS[measure.name.split('.')[1] ?? ''] ?? ''}/s`;
}
