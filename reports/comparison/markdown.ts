/** A comparison as Markdown, for a comment on a change. */
import { visible } from '../format.ts';
import type { Comparison, Subject } from './comparison.ts';
import { verdictText } from './doubts.ts';
import { turns } from './knees.ts';
import { gateOf, outcomes, rowsOf, withoutTable } from './outcome.ts';
import { waterfalls } from './waterfall.ts';
import {
  accountsOf,
  changeOf,
  detail,
  finding,
  label,
  origins,
  range,
  ratioOf,
  resultText,
  value,
} from './words.ts';

/** The verdict of the gate, then the findings. */
export function comparisonMarkdown(comparison: Comparison): string {
  const { subjects, rows, differing, conditions = [] } = comparison;
  const gate = gateOf(comparison);
  const lines = gate === null ? [] : [`**${plain(gate.sentence)}**`, ''];
  for (const { sentence } of outcomes(comparison)) lines.push(`**${plain(sentence)}**`, '');
  for (const sentence of waterfalls(comparison)) lines.push(plain(sentence), '');
  const table = (...cells: string[][]) => lines.push(...cells.map((row) => `| ${row.join(' | ')} |`), '');
  const letters = subjects.map(({ letter }) => letter);
  if (differing.length > 0) {
    table(
      ['differs', ...letters],
      ['---', ...letters.map(() => '---')],
      ...differing.map(({ name, values }) => [plain(name), ...values.map(plain)]),
    );
  }
  lines.push(...subjects.map(heading), ...accountsOf(subjects).map((text) => `- ${text}`), '');
  if (conditions.length > 0) {
    table(
      ['condition', 'of', 'result', 'measured'],
      ['---', '---', '---', '---'],
      ...conditions.map(({ condition, subject, result, detail }) => [
        plain(condition),
        subject,
        result === 'passed' ? resultText(result) : `**${result}**`,
        plain(detail),
      ]),
    );
  }
  for (const [i, { letter, obstacle }] of subjects.entries()) {
    if (i === 0 || obstacle !== null) continue;
    const refused = withoutTable(comparison, i);
    if (refused !== null) {
      lines.push(`${plain(refused)}.`, '');
      continue;
    }
    table(
      ['', 'A', letter, 'change', 'ratio', '99 % interval', 'finding', ''],
      ['---', '---:', '---:', '---:', '---:', '---:', '---', '---'],
      ...rowsOf(rows, i).map((row) => {
        const difference = row.differences[i] ?? null;
        const figures = [0, i].map((k) => value(row, row.values[k] ?? null));
        const ratio = [ratioOf(difference, row.kind), range(difference, row.kind)];
        return [
          label(row.name, subjects),
          ...figures,
          changeOf(difference, row.kind),
          ...ratio,
          finding(difference),
          detail(difference, row.kind),
        ];
      }),
    );
    lines.push(`${['Latencies in ms, rates per second', ...origins(rows, i)].join('. ')}.`, '');
  }
  for (const sentence of turns(subjects)) lines.push(`- ${plain(sentence)}`);
  return `${lines.join('\n').replaceAll('\u00a0', ' ').trimEnd()}\n`;
}

function heading({ letter, title, runs, obstacle }: Subject, index: number): string {
  const verdicts = [...new Set(runs.map(verdictText))].join(', ');
  const those = runs.length > 1 ? `${runs.length} runs, the first ` : '';
  return [
    `- **${letter}** ${plain(title)}`,
    `${those}${plain(runs[0]?.name ?? '')}`,
    verdicts,
    ...(index === 0 ? ['baseline'] : []),
    ...(obstacle === null ? [] : [`**${plain(obstacle)}**`]),
  ].join(' · ');
}

/** The most characters of a name or a reason. */
const LONGEST = 500;

/** Escapes text for Markdown, on one line, with visible bidi controls; run.json has what is cut off. */
export function plain(text: string): string {
  const all = [...text.toWellFormed()];
  const shown = all.slice(0, LONGEST).map((c) => {
    if (/[\p{Cc}\u2028\u2029]/u.test(c)) return ' ';
    if (visible(c) !== c) return visible(c).replace(/[[\]]/g, '\\$&');
    if (c === '<') return '&lt;';
    if (c === '&') return '&amp;';
    return /[\\`*_[\]|#>~]/.test(c) ? `\\${c}` : c;
  });
  return shown.join('') + (all.length > LONGEST ? '… (run.json has all of it)' : '');
}
