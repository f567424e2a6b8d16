/** Figures and differences as text, for page and terminal. */
import { equation } from '../account.ts';
import { against, count, exactly, figure, ms, percent, plain, significant } from '../format.ts';
import { type Difference, type Judgement, MARGIN, type Row, type Subject } from './comparison.ts';

/** The note for runs with failed messages. */
export const SURVIVORS = 'the figures are those of the other messages';

const GLUE = '\u00a0';

/** A value of a row, without its unit. */
export function value({ kind, values }: Row, number: number | null): string {
  if (kind === 'share') {
    const other = values.find((one) => one !== null && one !== number) ?? null;
    if (number === null || other === null) return plain(percent(number));
    return plain(against(100 * number, 100 * other, '%')); // shares that differ look different
  }
  return kind === 'latency' ? ms(number) : figure(number);
}

export function unit({ kind }: Row): string {
  return { latency: 'ms', rate: 'per second', count: '', share: '' }[kind];
}

/** A ratio to the baseline: ×1.20, ×20, ×0.050; of shares ×0.9983 */
export function times(ratio: number | null | undefined, kind: Row['kind'] = 'latency'): string {
  if (ratio == null) return '–';
  if (kind === 'share') return `×${exactly(ratio, 4)}`;
  if (ratio >= 9.95) return `×${count(ratio)}`;
  return `×${ratio < 0.0995 ? significant(ratio, 2) : exactly(ratio, 2)}`;
}

/** The same of {@link Difference.relative}; without an interval with fewer digits. */
export function ratioOf(difference: Difference | null, kind?: Row['kind']): string {
  if (difference?.relative == null) return times(null);
  const ratio = 1 + difference.relative;
  const rough = difference.interval === null && kind !== 'share' && ratio >= 1.995 && ratio < 9.95;
  return rough ? `×${exactly(ratio, 1)}` : times(ratio, kind);
}

/** +0.860, −0.080 */
export function signed(change: number): string {
  const text = ms(Math.abs(change));
  return Number(text) === 0 ? '±0' : `${change < 0 ? '−' : '+'}${text}`;
}

/** The difference of a latency in ms: +4,016; of anything else nothing. */
export function changeOf(difference: Difference | null, kind: Row['kind']): string {
  return difference === null || kind !== 'latency' ? '' : signed(difference.absolute);
}

/** ×1.08 … ×1.12; nothing where there is no interval. */
export function range(difference: Difference | null, kind: Row['kind']): string {
  if (difference?.interval == null) return '';
  const { low, high } = difference.interval;
  return `${endOf(1 + low, kind)} … ${endOf(1 + high, kind)}`;
}

/** An end of an interval. Beyond a million times its digits say nothing: few noisy repeats have ×155,786,394,161,940. */
function endOf(ratio: number, kind: Row['kind']): string {
  if (ratio > 1e6) return '> ×1,000,000';
  return ratio < 1e-6 ? '< ×0.000001' : times(ratio, kind);
}

/** The result of a condition in a word. */
export function resultText(result: Judgement['result']): string {
  return result === 'passed' ? 'ok' : result;
}

/** A condition with what was measured: account.lost is 0 (fails if > 0) */
export function judgementText({ condition, result, detail }: Judgement): string {
  const at = condition.search(/[<>]/);
  const [name, limit] = [condition.slice(0, at).trim(), condition.slice(at).trim()];
  const of = /[+−-]/.test(limit) ? ' changed by ' : ' is ';
  return `${name}${result === 'not judged' ? ': ' : of}${detail} (fails if ${limit})`;
}

/** worse, better, equal within 2 %, undecided, no interval; much worse, no interval */
export function finding(difference: Difference | null): string {
  if (difference === null) return '';
  const { word, interval } = difference;
  if (interval === null) return word === 'undecided' ? 'no interval' : `much ${word}, no interval`;
  return word === 'equal' ? `equal within ${within([interval])}` : word;
}

/** The largest distance of the intervals from no difference: 2 % */
export function within(intervals: readonly { low: number; high: number }[]): string {
  return share(Math.max(...intervals.flatMap(({ low, high }) => [Math.abs(low), Math.abs(high)])));
}

/** Why a figure is undecided, in a few words, or which difference would have shown. */
export function detail(difference: Difference | null, kind: Row['kind'] = 'latency'): string {
  if (difference === null) return '';
  if (difference.interval === null) return reason(difference);
  if (difference.word !== 'undecided') return '';
  if (difference.why !== null) return reason(difference);
  const { low, high } = difference.interval;
  const reach = (Math.log1p(high) - Math.log1p(low)) / 2;
  const seen = Math.exp(reach + Math.log1p(MARGIN[kind]));
  if (seen > 100) return 'not even a change of ×100 would show';
  return `only a change of ${seen < 2 ? `±${share(seen - 1)}` : times(seen)} or more would show`;
}

/** Why it is undecided, without the details. */
export function reason({ why }: Difference): string {
  return why?.split(':')[0] ?? 'too noisy';
}

/** The sources of a subject's intervals, and why some have none. */
export function origins(rows: readonly Row[], index: number): string[] {
  const all = rows.flatMap(({ differences }) => differences[index] ?? []);
  const from = [...new Set(all.flatMap(({ interval }) => interval?.from ?? []))];
  const why = [...new Set(all.flatMap(({ why }) => (why?.includes(':') ? why : [])))];
  return [...(from.length > 0 ? [`99 % intervals from ${from.join('; ')}`] : []), ...why];
}

/** A share as a percentage, rounded up. */
function share(of: number): string {
  const digits = of < 0.0995 ? 1 : 0;
  return `${Math.ceil(of * 100 * 10 ** digits - 1e-9) / 10 ** digits}${GLUE}%`;
}

/** A title that fits a legend. */
export function short(title: string): string {
  return title.length > 48 ? `${title.slice(0, 47)}…` : title;
}

/** B · cluster */
export function legend({ letter, title }: Pick<Subject, 'letter' | 'title'>): string {
  return `${letter} · ${short(title)}`;
}

/** The protocol of the requests, for the title of their latency: HTTP, or HTTP / MQTT. */
export function protocols(subjects: readonly Subject[]): string {
  return [...new Set(subjects.map(({ protocol }) => protocol))].join(' / ');
}

/** The accounts: one line when all agree, else one for each subject. */
export function accountsOf(subjects: readonly Subject[]): string[] {
  const lines = subjects.map(({ account, failed }) => {
    return equation(account) + (failed === null ? '' : `; ${failed}: ${SURVIVORS}`);
  });
  if (new Set(lines).size === 1) return [`accounts: ${lines[0]}, in each`];
  return lines.map((line, i) => `account ${subjects[i]?.letter}: ${line}`);
}

/** queued → claimed */
export function marks(stage: string): string {
  return stage.replace('-', ' → ');
}

/** arrival p99, HTTP p99, arrival within 250 ms, queue mean, queued → claimed mean, requests */
export function label(name: string, subjects: readonly Subject[]): string {
  const [, stage, statistic] = /^spans\.(.+)\.(\w+)$/.exec(name) ?? [];
  if (stage !== undefined) return `${marks(stage)} ${statistic}`;
  return name
    .replace(/^rate\./, '')
    .replace(/^http(?=\.)/, protocols(subjects))
    .replace('from_send', 'from send')
    .replace('p999', 'p99.9')
    .replace('.', ' ')
    .replace(/\((\d+)(\w+)\)/, ' $1 $2');
}
