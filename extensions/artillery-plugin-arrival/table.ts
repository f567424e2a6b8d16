/** Maps and lists of a file as they are written: their keys and values are yet to be checked. */
import { OptionError } from './pipeline.ts';

export type Table = Record<string, unknown>;

export const isMap = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function list(value: unknown, where: string): Table[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new OptionError(`${where} is missing; allowed: a list`);
  return value as Table[];
}
