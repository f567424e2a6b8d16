/** A result as a document and as a table for the terminal. */
import { fold } from '../../pipeline/shared/fold.ts';
import { plain } from '../comparison/markdown.ts';
import { additionText } from '../comparison/text.ts';
import { msUnit } from '../format.ts';
import {
  answerOf,
  campaign,
  commandsOf,
  conditionsOf,
  kindsOf,
  LEGEND,
  markOf,
  missingOf,
  toolsOf,
  unusedOf,
} from './facts.ts';
import type { Referee } from './result.ts';

/** The characters of a line of a document. */
const WIDTH = 100;
const TRUTH = 'truth, from due';

/** The whole document, with its date, machine and commands. */
export function refereeMarkdown(result: Referee): string {
  const { truths } = result;
  const tools = toolsOf(result);
  const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const marks = (tool: string) =>
    truths.map((truth) => {
      const { tone, text, figure, range } = markOf(result, tool, truth);
      if (tone === 'none') return text;
      return `${tone === 'right' ? text : `**${text}**`} (${figure}${range && `; ${range}`})`;
    });
  const missing = missingOf(result).map(({ title, install }) => `- ${plain(title)}: \`${install}\``);
  const unused = unusedOf(result).map((line) => `- ${plain(line)}`);
  const lines = [
    '# The referee',
    '',
    ...answerOf(result).flatMap((sentence) => [plain(sentence), '']),
    `${conditionsOf(result).map(plain).join('; ')}. Measured and written by:`,
    '',
    `    ${campaign(result)}`,
    '',
    row(['load generator', 'version', 'model', ...truths.map(({ name }) => name)]),
    row(['---', '---', '---', ...truths.map(() => '---:')]),
    row([TRUTH, '', '', ...truths.map(({ due }) => msUnit(due.p99_ms))]),
    ...tools.map(({ name, title, version, model, own }) =>
      row([own ? `**${plain(title)}**` : plain(title), plain(version ?? ''), model, ...marks(name)]),
    ),
    '',
    `${LEGEND} What is off is bold.`,
    '',
    ...(missing.length > 0 ? ['Not installed, so not measured:', '', ...missing, ''] : []),
    ...(unused.length > 0 ? ['Runs that are kept but not used:', '', ...unused, ''] : []),
    '## Truths',
    '',
    ...truths.map(({ name, about }) => `- **${name}**: ${plain(about)}`),
    '',
    '## Why each kind errs',
    '',
    ...kindsOf(result).flatMap(({ title, text, rows }) => [
      `**${title}.** ${text}${rows === '' ? '' : ` Here: ${plain(rows)}.`}`,
      '',
    ]),
    '## Commands',
    '',
    ...tools.flatMap(({ name, title, why }) => [
      `**${plain(title)}** (\`--tools ${name}\`). ${plain(why)}`,
      '',
      ...commandsOf(result, name).flatMap(({ command, truths }) => [`    # ${truths}`, `    ${command}`]),
      '',
    ]),
  ];
  const folded = lines.map((line) => {
    if (/^(?:\||#| {4})/.test(line)) return line;
    return line.startsWith('- ') ? fold(line, WIDTH - 2).replaceAll('\n', '\n  ') : fold(line, WIDTH);
  });
  return `${folded.join('\n').replaceAll('\u00a0', ' ').trimEnd()}\n`;
}

/** The table of the tools under each truth. */
export function refereeTable(result: Referee): string {
  const { truths } = result;
  const missing = missingOf(result).map(({ title, install }) => `not installed: ${title} (${install})`);
  const table = additionText({
    title: '',
    caption: LEGEND,
    head: ['load generator', ...truths.map(({ name }) => name)],
    rows: [
      [TRUTH, ...truths.map(({ due }) => msUnit(due.p99_ms))],
      ...toolsOf(result).flatMap(({ name, title }) => {
        const marks = truths.map((truth) => markOf(result, name, truth));
        const ranges = marks.map(({ range }) => range);
        const row = [title, ...marks.map(({ text }) => text)];
        return ranges.some((range) => range !== '') ? [row, ['', ...ranges]] : [row];
      }),
    ],
    notes: [...answerOf(result), ...missing, ...unusedOf(result).map((line) => `not used: ${line}`)],
  });
  return table.replaceAll('\u00a0', ' ').trimStart();
}
