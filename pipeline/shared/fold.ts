/** Help that fits the terminal. */

/** Narrower columns are unreadable; continuation lines get a smaller indent. */
const LEAST = 24;

/** Prints a text, folded if the output is a terminal. */
export function printFolded(text: string, out: NodeJS.WriteStream = process.stdout): void {
  out.write(`${out.isTTY ? fold(text, out.columns || 80) : text}\n`);
}

/** Breaks lines at spaces; what continues is indented like the last column of its line. Longer words stay whole. */
export function fold(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => foldLine(line, columns))
    .join('\n');
}

function foldLine(line: string, columns: number): string {
  if ([...line].length <= columns) return line;
  const [head = ''] = /^ *\S+(?: \S+)*? {2,}(?=\S)/.exec(line) ?? /^ */.exec(line) ?? [];
  const indent = ' '.repeat(head.length <= columns - LEAST ? head.length : 4);
  const lines: string[] = [];
  let current = head;
  let empty = true;
  for (const word of line.slice(head.length).split(/ +/)) {
    const longer = [...current].length + (empty ? 0 : 1) + [...word].length;
    if (longer > columns && current.trim() !== '') {
      lines.push(current.trimEnd());
      current = indent;
      empty = true;
    }
    current += empty ? word : ` ${word}`;
    empty = false;
  }
  return [...lines, current].join('\n');
}
