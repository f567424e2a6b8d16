/** A comparison as a table for the terminal. */

import { printable } from '../../pipeline/shared/printable.ts';
import type { Addition, Comparison, Subject } from './comparison.ts';
import { verdictText } from './doubts.ts';
import { turns } from './knees.ts';
import { outcomes, rowsOf, withoutTable } from './outcome.ts';
import { waterfalls } from './waterfall.ts';
import { accountsOf, changeOf, detail, finding, label, origins, range, ratioOf, value } from './words.ts';

/** A name that may be of any length. */
const plain = (text: string) => (text.length > 400 ? `${text.slice(0, 399)}…` : text);

export function comparisonText(comparison: Comparison): string {
  const { subjects, rows, differing } = comparison;
  const lines = [...outcomesText(comparison), ...waterfalls(comparison), ''];
  for (const { name, values } of differing) {
    lines.push(`differs     ${plain(name)}: ${values.map(plain).join(' | ')}`);
  }
  lines.push(...subjects.flatMap((subject, i) => heading(subject, i)), ...accountsText(subjects), '');
  const width = Math.max(...rows.map(({ name }) => label(name, subjects).length), 8);
  for (const [i, subject] of subjects.entries()) {
    if (i === 0 || subject.obstacle !== null) continue; // the outcome says why
    const refused = withoutTable(comparison, i);
    if (refused !== null) {
      lines.push(refused, '');
      continue;
    }
    const { letter } = subject;
    lines.push(`${''.padEnd(width)}  ${cell('A')}${cell(letter)}${cell('change')}  ${letter} against A`);
    for (const row of rowsOf(rows, i)) {
      const difference = row.differences[i] ?? null;
      const figures = [0, i].map((k) => cell(value(row, row.values[k] ?? null))).join('');
      const change = cell(changeOf(difference, row.kind));
      const interval = range(difference, row.kind);
      const words = [
        ratioOf(difference, row.kind).padStart(7),
        (interval === '' ? '' : `(${interval})`).padEnd(17),
        [finding(difference), detail(difference, row.kind)].filter((text) => text !== '').join(': '),
      ];
      lines.push(`${label(row.name, subjects).padEnd(width)}  ${figures}${change}  ${words.join(' ')}`);
    }
    lines.push('(latencies in ms, rates per second)', ...origins(rows, i).map((text) => `(${text})`), '');
  }
  const knees = turns(subjects);
  if (knees.length > 0) lines.push(...knees.map((sentence) => `sweep       ${sentence}`), '');
  return lines.map((line) => printable(line.replaceAll('\u00a0', ' ')).trimEnd()).join('\n');
}

/** The answer, a line for each subject but the baseline. */
export function outcomesText(comparison: Comparison): string[] {
  return outcomes(comparison).map(({ sentence }) => sentence.replaceAll('\u00a0', ' '));
}

function heading({ letter, title, runs, obstacle }: Subject, index: number): string[] {
  const verdicts = [...new Set(runs.map(verdictText))].join(', ');
  const left = runs.filter(({ counted }) => !counted).length;
  const those = left > 0 ? `${runs.length - left} of ${runs.length} runs count` : `${runs.length} runs`;
  const of = runs.length > 1 ? `${those}, the first ${runs[0]?.name}` : `${runs[0]?.name}`;
  return [
    `${letter}  ${plain(title)} · ${plain(of)} · ${verdicts}${index === 0 ? ' · baseline' : ''}`,
    ...(obstacle === null ? [] : [`   ${obstacle}`]),
  ];
}

/** The accounts of the subjects. */
export function accountsText(subjects: readonly Subject[]): string[] {
  return accountsOf(subjects).map((text) => text.replace(/^(.+?): /, (_, head) => head.padEnd(12)));
}

const WIDTH = 140;

/** A table of {@link Comparison.additions}. */
export function additionText({ title, caption, head, rows, notes }: Addition): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  const line = (row: string[]) =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[i] ?? 0))).join('   ');
  const table = rows.length > 0 ? [caption, ...all.map(line)] : [];
  return [title, ...table, ...notes.flatMap(wrapped)].map((text) => printable(text).trimEnd()).join('\n');
}

/** Wraps a paragraph for a terminal. */
function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) as string;
    if (last.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

function cell(text: string): string {
  return text.padStart(10);
}
