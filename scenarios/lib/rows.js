// Rows of a CSV file, beside k6's parser: what it takes without an error, and would send wrong.

const DELIMITERS = /** @type {const} */ ([',', ';', '\t', '|']);
/** @typedef {typeof DELIMITERS[number]} Delimiter */
const ALLOWED = 'comma, semicolon, tab or pipe between columns';
const QUOTED = /"[^"]*"/g;

/** The bytes of a byte order mark in UTF-8. */
const MARK = 3;

/**
 * How a CSV file is to be read. Throws when it is not CSV in UTF-8.
 * @param {string} name of the file, for errors
 * @param {string} text of the file
 * @returns {{ delimiter: Delimiter, from: number }} `from`: the byte at which its header begins
 */
export function formOf(name, text) {
  const marked = text.startsWith('\ufeff');
  const rest = marked ? text.slice(1) : text;
  /** @type {(index: number, what: string, allowed: string) => void} */
  const refuse = (index, what, allowed) => {
    if (index < 0) return;
    const line = rest.slice(0, index).split('\n').length;
    throw new Error(`${name}, line ${line}: ${what}; allowed: ${allowed}`);
  };
  refuse(rest.search(/[\ufffd\0]/), 'not UTF-8', 'a CSV file in UTF-8');
  refuse(rest.indexOf('\ufeff'), 'a byte order mark in the text', 'one at the beginning of the file');
  // k6's parser would drop the CR.
  for (const { 0: field, index } of rest.matchAll(QUOTED)) {
    if (field.includes('\r\n')) refuse(index, 'CR and LF in a quoted field', 'LF alone in the field');
  }
  const bare = rest.replaceAll(QUOTED, '');
  if (/\r(?!\n)/.test(bare)) {
    throw new Error(`${name}: a line ends with CR alone; allowed: LF, or CR and LF`);
  }
  const header = /[^\r\n]+/.exec(bare)?.[0] ?? '';
  const found = DELIMITERS.filter((one) => header.includes(one));
  if (found.length > 1) {
    const both = found.map((one) => JSON.stringify(one)).join(' and ');
    throw new Error(`${name}, line 1: ${both} stand outside quotes; allowed: one kind of ${ALLOWED}`);
  }
  if (found.length === 0 && /[^\p{L}\p{M}\p{N}\s_.-]/u.test(header)) {
    throw new Error(
      `${name}, line 1: no column has the name ${header}; allowed: ${ALLOWED}, or a name in quotes`,
    );
  }
  return { delimiter: found[0] ?? ',', from: marked ? MARK : 0 };
}

/**
 * An error of k6's parser, which names the line of a row with too few or too many columns, with the column.
 * @param {string} message
 * @param {string} name of the file
 * @param {string} text of the file
 * @param {Delimiter} delimiter
 */
export function placeOf(message, name, text, delimiter) {
  const line = Number(/record on line (\d+): wrong number of fields/.exec(message)?.[1] ?? 0);
  if (line === 0) return `${name}: ${message}`;
  const columns = cellsIn(text.replace(/^[\ufeff\r\n]+/, ''), delimiter);
  const cells = cellsIn(
    text
      .split('\n')
      .slice(line - 1)
      .join('\n'),
    delimiter,
  );
  const wrong = cells < columns ? `column ${cells + 1} is missing` : `column ${columns + 1} is one too many`;
  return `${name}, line ${line}: ${wrong}; allowed: ${columns} columns, as in the first line`;
}

/**
 * How many cells the first row of a text has.
 * @param {string} text
 * @param {Delimiter} delimiter
 */
function cellsIn(text, delimiter) {
  const [row = ''] = /^(?:[^"\n]|"[^"]*")*/.exec(text) ?? [];
  return row.replaceAll(QUOTED, '').split(delimiter).length;
}

/**
 * The names of columns, from a file's first row. Throws when one is empty or twice, or when no row follows.
 * @param {string} name of the file, for errors
 * @param {readonly string[]} first its first row
 * @param {number} count of all rows
 * @returns {string[]}
 */
export function columnsOf(name, first, count) {
  if (count < 2) throw new Error(`${name} has no row; allowed: a line of column names, and rows below`);
  const columns = first.map((column) => column.trim());
  for (const [i, column] of columns.entries()) {
    const place = `${name}, line 1, column ${i + 1}`;
    if (column === '') throw new Error(`${place}: the name is empty; allowed: a name`);
    const before = columns.indexOf(column);
    if (before < i)
      throw new Error(`${place}: ${column} is also column ${before + 1}; allowed: another name`);
  }
  return columns;
}

/**
 * The columns of CSV in a text, by name.
 * @param {string} name of the file, for errors
 * @param {string} text
 * @returns {Record<string, string[]>}
 */
export function columnsIn(name, text) {
  const { delimiter } = formOf(name, text);
  const [first = [], ...rows] = rowsIn(text.replace(/^\ufeff/, ''), delimiter);
  const columns = columnsOf(name, first, 1 + rows.length);
  const wrong = rows.findIndex((row) => row.length !== columns.length);
  if (wrong >= 0)
    throw new Error(
      `${name}, row ${wrong + 2}: ${rows[wrong].length} columns; allowed: ${columns.length}, as in the first line`,
    );
  return Object.fromEntries(columns.map((column, i) => [column, rows.map((row) => row[i])]));
}

/**
 * The cells of CSV without empty lines.
 * @param {string} text
 * @param {Delimiter} delimiter
 */
function rowsIn(text, delimiter) {
  /** @type {string[][]} */
  const rows = [];
  let row = [];
  const cell = new RegExp(
    `("(?:[^"]|"")*"|[^${delimiter}\\r\\n]*)(${delimiter === '|' ? '\\|' : delimiter}|\\r?\\n|$)`,
    'g',
  );
  for (const { 1: field, 2: end } of text.matchAll(cell)) {
    row.push(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);
    if (end === delimiter) continue;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  return rows;
}

/**
 * A row as an object.
 * @param {readonly string[]} columns
 * @param {readonly string[]} row
 */
export function rowOf(columns, row) {
  return Object.fromEntries(columns.map((column, i) => [column, row[i]]));
}
