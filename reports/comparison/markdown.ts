/** A comparison as Markdown, for a comment on a change. */
import { equation } from '../account.ts';
import { visible } from '../page/format.ts';
import type { Comparison, Subject } from './comparison.ts';
import type { Finding } from './conditions.ts';
import { turns } from './knees.ts';
import { change, label, range, SURVIVORS, value } from './words.ts';

/** @param findings of the conditions that it was held against */
export function comparisonMarkdown(comparison: Comparison, findings: readonly Finding[]): string {
  const { subjects, rows, environment } = comparison;
  const lines = [`## Comparison: ${subjects.map(({ title }) => plain(title)).join(' – ')}`, ''];
  const table = (...cells: string[][]) => lines.push(...cells.map((row) => `| ${row.join(' | ')} |`), '');
  lines.push(...subjects.map(heading));
  for (const { letter, account, failed } of subjects) {
    const only = failed === null ? '' : `; **${failed}: ${SURVIVORS}**`;
    lines.push(`- account ${letter}: ${equation(account)}${only}`);
  }
  lines.push('');
  if (findings.length > 0) {
    table(
      ['condition', 'of', 'result'],
      ['---', '---', '---'],
      ...findings.map(({ condition, subject, fails, sentence }) => {
        const told = plain(sentence.slice(condition.text.length + 2));
        return [plain(condition.text), subject, fails ? `**FAIL** ${told}` : `ok ${told}`];
      }),
    );
  }
  for (const [i, { letter, obstacle }] of subjects.entries()) {
    if (i === 0 || obstacle !== null) continue;
    table(
      ['', 'A', letter, 'difference', '99 % interval', 'finding'],
      ['---', '---:', '---:', '---:', '---:', '---'],
      ...rows
        .filter(({ values }) => values[0] !== null || values[i] !== null)
        .map((row) => {
          const difference = row.differences[i] ?? null;
          const figures = [0, i].map((k) => value(row, row.values[k] ?? null));
          const word = difference?.word ?? '';
          return [label(row.name), ...figures, change(difference?.relative), range(difference), word];
        }),
    );
    lines.push('Latencies in ms, rates per second.', '');
  }
  for (const sentence of turns(subjects)) lines.push(`- ${plain(sentence)}`);
  for (const { name, values } of environment) {
    lines.push(`- differs: ${plain(name)}: ${values.map((one) => plain(one ?? '–')).join(', ')}`);
  }
  return `${lines.join('\n').replaceAll('\u00a0', ' ')}\n`;
}

function heading({ letter, title, runs, obstacle }: Subject, index: number): string {
  const verdicts = [...new Set(runs.map((run) => run.verdict))].join(', ');
  const those = runs.length > 1 ? `${runs.length} runs, the first ` : '';
  return [
    `- **${letter}** ${plain(title)}`,
    `${those}${plain(runs[0]?.name ?? '')}`,
    verdicts,
    ...(index === 0 ? ['baseline'] : []),
    ...(obstacle === null ? [] : [`**${plain(obstacle)}**`]),
  ].join(' · ');
}

/** In characters, of a name or a reason in Markdown. */
const LONGEST = 500;

/** Text that Markdown shows as it is, on one line; its bidi controls are seen, and run.json has what is cut off. */
function plain(text: string): string {
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
