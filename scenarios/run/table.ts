/** Tables for the terminal. Pure. */
import { local } from '../../reports/format.ts';

/** Mean and sample standard deviation of the known values; NaN for the deviation of one value. */
export function meanAndSpread(values: readonly (number | null)[]): { mean: number; spread: number } {
  const known = values.filter((value) => value !== null);
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const squares = known.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, spread: known.length > 1 ? Math.sqrt(squares / (known.length - 1)) : Number.NaN };
}

/** A mean with its spread, three significant digits; `n/a` without values. */
export function spread(values: readonly (number | null)[]): string {
  const { mean, spread } = meanAndSpread(values);
  if (Number.isNaN(mean)) return 'n/a';
  const digits = mean >= 100 ? 0 : mean >= 10 ? 1 : mean >= 1 ? 2 : 3;
  const text = (value: number) =>
    local(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return Number.isNaN(spread) ? text(mean) : `${text(mean)} ± ${text(spread)}`;
}

/** Aligns rows of cells in columns. @param left the number of left-aligned columns */
export function aligned(rows: readonly (readonly string[])[], left = 1): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i < left ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
