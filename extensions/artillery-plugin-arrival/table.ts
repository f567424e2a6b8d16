/** Maps and lists of a file as they are written: their keys and values are yet to be checked. */
import { like } from '../../pipeline/shared/flags.ts';
import { OptionError } from './pipeline.ts';

export type Table = Record<string, unknown>;

export const isMap = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function list(value: unknown, where: string): Table[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new OptionError(`${where} is missing; allowed: a list`);
  return value as Table[];
}

/** @throws {OptionError} for a key that is not known, with the nearest one */
export function checkKeys(
  of: Table,
  where: string,
  allowed: readonly string[],
  near: readonly string[] = allowed,
): void {
  const unknown = Object.keys(of).find((key) => !allowed.includes(key));
  if (unknown === undefined) return;
  throw new OptionError(
    `${where} has ${unknown}, which is not known${like(unknown, near)}; allowed: ${allowed.join(', ')}`,
  );
}
