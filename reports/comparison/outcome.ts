/** The outcome of a comparison and what to do about it, in a sentence. Pure. */
import { plural } from '../format.ts';
import {
  BETTER_FAILED,
  type Comparison,
  type Difference,
  GENERATORS,
  MOST_REPEATS,
  MUCH,
  OTHER_LOAD,
  type Row,
  type Subject,
} from './comparison.ts';
import { judgementText, ratioOf, reason, short, times, value, within } from './words.ts';

/** Figures that the sentence always names, with their names in it. */
const HEADLINE: Record<string, string> = {
  'arrival.p50': 'p50',
  'arrival.p99': 'p99',
  'rate.arrived': 'arrival rate',
};
/** Repeats to recommend: fewer do not show how much runs differ. */
const LEAST_REPEATS = 3;

export interface Outcome {
  tone: 'worse' | 'better' | '';
  sentence: string;
}

interface Named {
  name: string;
  row: Row;
  difference: Difference;
}

/** One for each subject but the baseline. */
export function outcomes(comparison: Comparison): Outcome[] {
  return comparison.subjects.slice(1).map((_, k) => outcomeOf(comparison, k + 1));
}

/** The rows without figures that both sides lack, in their order, which is the same whatever came out. */
export function rowsOf(rows: readonly Row[], index: number): Row[] {
  return rows.filter(({ values }) => values[0] !== null || values[index] !== null);
}

/**
 * Why the differences of a subject are a line and no table; null: they are one. Of two undecided runs without an interval each row
 * would say the same.
 */
export function withoutTable({ subjects, rows }: Comparison, index: number): string | null {
  const pair = [subjects[0], subjects[index]] as Subject[];
  const open = pair.every(({ runs }) => runs.filter(({ counted }) => counted).every((run) => run.undecided));
  const differences = rowsOf(rows, index).flatMap((row) => row.differences[index] ?? []);
  const decided = differences.some(({ interval, word }) => interval !== null || word !== 'undecided');
  if (!open || decided) return null;
  const why = [...new Set(differences.map(reason))].join('; ');
  const because = why === '' ? '' : ` (${why})`;
  const of = `${pair[1]?.letter} against ${pair[0]?.letter}`;
  return `${of}: both are undecided, and no figure has an interval${because}, so no difference is shown`;
}

/** The verdict of a gate: the worst result of its conditions; null: it has none. */
export function gateOf({ conditions = [] }: Comparison): Outcome | null {
  if (conditions.length === 0) return null;
  const all = plural(conditions.length, 'condition');
  const worst = (['exceeded', 'messages failed', 'undecided', 'not judged'] as const).find((one) =>
    conditions.some(({ result }) => result === one),
  );
  if (worst === undefined) return { tone: 'better', sentence: `ok: ${all}` };
  const those = conditions.filter(({ result }) => result === worst);
  return {
    tone: 'worse',
    sentence: `${worst}: ${those.length} of ${all}: ${those.map((one) => `${one.subject}: ${judgementText(one)}`).join('; ')}`,
  };
}

function outcomeOf({ subjects, rows }: Comparison, index: number): Outcome {
  const subject = subjects[index] as Comparison['subjects'][number];
  const baseline = subjects[0] as Comparison['subjects'][number];
  const named = `${subject.letter} (${short(subject.title)})`;
  if (subject.obstacle !== null) {
    const remedy = subject.obstacle.startsWith(OTHER_LOAD) ? 'run both with the same load' : 'repeat it';
    return { tone: '', sentence: `${named}: ${subject.obstacle}, ${remedy}` };
  }
  const found = rows.flatMap((row): Named[] => {
    const name = HEADLINE[row.name];
    const difference = row.differences[index];
    return name === undefined || difference == null ? [] : [{ name, row, difference }];
  });
  const all = [...found, ...stageOf(rows, Object.keys(baseline.stages), index)];
  const of = (...words: Difference['word'][]) =>
    all.filter(({ difference }) => words.includes(difference.word));
  const runs = Math.max(
    ...[baseline, subject].map(({ runs }) => runs.filter(({ counted }) => counted).length),
  );
  const repeat = `repeat ${runs === 1 ? LEAST_REPEATS : 2 * runs} times`;
  // Messages that failed would have been the slowest of their run: it is not called the better one.
  const failed = { worse: baseline.failed, better: subject.failed };
  const lead = leadOf(all, failed);
  const parts = [
    ...(baseline.failed === null ? [] : [`of the baseline’s messages ${baseline.failed}`]),
    ...(subject.failed === null ? [] : [subject.failed]),
    ...(['worse', 'better'] as const).flatMap((word) => decided(of(word), index, lead === '' ? word : '')),
    ...withoutStage(of('worse', 'better'), baseline, subject),
    ...withoutInterval(of('worse', 'better'), repeat),
    ...equal(of('equal')),
    ...undecided(of('undecided'), repeat, runs),
    ...circumstances(rows, index, baseline, subject),
  ];
  const sure =
    runs > 1 || all.length === 0 || parts.some((part) => part.endsWith(repeat) || DECIDES.test(part));
  const sentence = parts.length === 0 ? 'nothing to compare' : parts.join('; ');
  const worse = subject.failed !== null || of('worse').length > 0;
  return {
    tone: worse ? 'worse' : of('better').length > 0 ? 'better' : '',
    sentence: `${named}${lead}: ${sentence}${sure ? '' : `; one run each: ${repeat} to be sure`}`,
  };
}

/** Which of two is better, where all decided figures agree: " is much slower"; empty: they do not, or none is decided. */
function leadOf(all: readonly Named[], failed: Record<'worse' | 'better', string | null>): string {
  const words = new Set(all.map(({ difference }) => difference.word));
  const word = (['worse', 'better'] as const).find((one) => words.has(one));
  if (word === undefined || (words.has('worse') && words.has('better')) || failed[word] !== null) return '';
  const decided = all.filter(({ difference }) => difference.word === word);
  const latency = decided.some(({ row }) => row.kind === 'latency');
  const much = decided.some(({ difference: { relative } }) => {
    const ratio = 1 + (relative ?? 0);
    return ratio >= MUCH || ratio <= 1 / MUCH;
  });
  const says = latency ? { worse: 'slower', better: 'faster' } : { worse: 'worse', better: 'better' };
  return ` is ${much ? 'much ' : ''}${says[word]}`;
}

/** The stage with the largest decided difference. */
function stageOf(rows: readonly Row[], stages: readonly string[], index: number): Named[] {
  const size = ({ difference }: Named) => Math.abs(difference.absolute);
  return rows
    .flatMap((row): Named[] => {
      const { name, differences } = row;
      const [stage = ''] = name.split('.');
      const difference = differences[index];
      const known = stages.includes(stage) && difference != null;
      return known && ['worse', 'better'].includes(difference.word) ? [{ name: stage, row, difference }] : [];
    })
    .toSorted((a, b) => size(b) - size(a))
    .slice(0, 1);
}

/** Says that no stage can be named where the pipeline reports none, and what makes stages known. */
function withoutStage(those: readonly Named[], ...both: Subject[]): string[] {
  const known = ({ stages, spans }: Subject) =>
    Object.keys(spans).length > 0 || Object.values(stages).filter((mean) => mean !== null).length > 1;
  return those.some(({ row }) => row.kind === 'latency') && !both.some(known)
    ? ['in which stage is not known: stamps or SPANS show it']
    : [];
}

/** Each figure before and after: p99 4.39 → 4,020 ms, ×916 */
function decided(those: Named[], index: number, word: string): string[] {
  return those.map(({ name, row, difference }) => {
    const [from, to] = [0, index].map((i) => value(row, row.values[i] ?? null));
    const ratio = `${ratioOf(difference, row.kind)} ${word}`.trim();
    return `${name} ${from} → ${`${to} ${UNITS[row.kind]}`.trim()}, ${ratio}`;
  });
}

const UNITS: Record<Row['kind'], string> = { latency: 'ms', rate: '/s', count: '', share: '' };

/** Why decided figures have no interval, and what gives them one. */
function withoutInterval(those: Named[], repeat: string): string[] {
  const reasons = those.flatMap(({ difference }) =>
    difference.interval === null ? [reason(difference)] : [],
  );
  return [...new Set(reasons)].map((why) =>
    why === 'the run is too short'
      ? `too short for an interval, ${repeat}`
      : `no interval: ${why}, ${repeat}`,
  );
}

/** p99 (×1.20) */
function withRatio({ name, difference }: Named): string {
  return `${name} (${ratioOf(difference)})`;
}

function equal(those: Named[]): string[] {
  if (those.length === 0) return [];
  const intervals = those.flatMap(({ difference }) => difference.interval ?? []);
  return [`${listed(those.map(({ name }) => name))} equal within ${within(intervals)}`];
}

/** A machine that differs by less from one run to another is the same: times of one differ by a tenth beside other work. */
const LEAST_SLOWER = 1.2;

/** What differs of the generator and of the machine: circumstances of the runs, no differences of what is compared. */
function circumstances(rows: readonly Row[], index: number, baseline: Subject, subject: Subject): string[] {
  const found: string[] = [];
  const more = (before: number, after: number) => (after > before ? subject : baseline).letter;
  const row = rows.find(({ differences }) => differences[index]?.why === GENERATORS);
  const [early, late] = [row?.values[0], row?.values[index]];
  if (row && early != null && late != null) {
    const span = `${value(row, early)} → ${value(row, late)} ms`;
    found.push(`the generator was later in ${more(early, late)} (${span})`);
  }
  const [before, after] = [baseline.calibration, subject.calibration];
  const ratio = before === null || after === null ? 1 : Math.max(after / before, before / after);
  if (before !== null && after !== null && ratio >= LEAST_SLOWER) {
    found.push(`the machine took ${times(ratio)} as long for the same work in ${more(before, after)}`);
  }
  return found.length === 0 ? [] : [`${found.join(', ')}: compare with care`];
}

/** What repeats gain, where it is computed. */
const DECIDES = / more runs? of each (would|may not) /;

function gain(those: readonly Named[], runs: number): string {
  const all = those.map(({ difference }) => difference.more ?? 0);
  const more = all.includes(0) ? 0 : Math.max(...all);
  const assumed = runs === 1 ? ', if runs differ as little as their seconds' : '';
  return more === 0
    ? `even ${MOST_REPEATS} more runs of each may not decide it`
    : `${plural(more, 'more run')} of each would decide it${assumed}`;
}

/** Undecided figures, grouped by remedy and reason; without an interval the ratio is all that is known. */
function undecided(those: Named[], repeat: string, runs: number): string[] {
  const noisy = those.filter(({ difference: { more } }) => more !== undefined);
  const remedy = ({ difference }: Named) => {
    if (difference.why === BETTER_FAILED) return 'fix that first';
    return difference.more === undefined ? repeat : gain(noisy, runs);
  };
  return [...Map.groupBy(those, remedy)].flatMap(([what, some]) => {
    const reasons = [...Map.groupBy(some, ({ difference }) => reason(difference))].map(([why, few]) => {
      // A ratio says nothing about a run in which messages failed.
      const names = listed(
        why === BETTER_FAILED.split(':')[0] ? few.map(({ name }) => name) : few.map(withRatio),
      );
      return few.every(({ difference }) => difference.interval === null)
        ? `${listed(few.map(withRatio))} without an interval: ${why}`
        : `${names} undecided: ${why}`;
    });
    return `${reasons.join('; ')}, ${what}`;
  });
}

/** p50, p99 and relay */
function listed(words: string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
