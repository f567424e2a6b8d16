/** Rows of CSV files that Artillery has read for a script. */
import { OptionError } from './pipeline.ts';

export interface Payload {
  path?: string;
  fields?: string[];
  /** The rows that Artillery has read from the file; absent before it has. */
  data?: unknown[][];
}

/** Refuses a CSV file of which Artillery would send empty or wrong fields. */
export function checkPayload({ path, fields = [], data }: Payload): void {
  const refuse = (what: string, allowed: string): never => {
    throw new OptionError(`config.payload, ${path}: ${what}; allowed: ${allowed}`);
  };
  const wrong = fields.findIndex((field, i) => !field || fields.indexOf(field) < i);
  if (wrong >= 0) refuse(`field ${wrong + 1} is empty or there twice`, 'a name of its own for each');
  if (data === undefined) return;
  if (data.length === 0) refuse('there is no row', 'a row at least, below the header');
  for (const [i, row] of data.entries()) {
    if (row.length < fields.length) {
      refuse(
        `row ${i + 1} has ${row.length} of ${fields.length} fields: column ${row.length + 1}, ${fields[row.length]}, is missing`,
        'all of them (delimiter is a comma by default)',
      );
    }
    const cell = row.findIndex((value) => /[\ufeff\ufffd]/.test(String(value)));
    if (cell >= 0) {
      refuse(
        `row ${i + 1}, field ${cell + 1} is not UTF-8 or has a byte order mark`,
        'UTF-8, and options: { bom: true }',
      );
    }
  }
}
