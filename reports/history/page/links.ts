/** Addresses on this server. */
import type { Order } from '../changes.ts';

const at = encodeURIComponent;

export function reportOf(directory: string): string {
  return `/runs/${at(directory)}/index.html`;
}

export function liveOf(directory: string): string {
  return `/live/${at(directory)}`;
}

export function eventsOf(directory: string): string {
  return `/api/runs/${at(directory)}/live`;
}

/**
 * The first one is the baseline.
 * @param allowFailed also where messages of them failed
 */
export function compareOf(directories: readonly string[], allowFailed = false): string {
  const runs = directories.map((directory) => `run=${at(directory)}`).join('&');
  return `/compare?${runs}${allowFailed ? '&allow-failed=true' : ''}`;
}

/** The filter and the order of the list of runs. */
export interface Filter {
  text: string;
  script: string;
  state: string;
  label: string;
  sort: Order;
  ascending: boolean;
}

export const ALL: Filter = { text: '', script: '', state: '', label: '', sort: 'started', ascending: false };

/** Writes a filter as the address of the list has it, without what is as in {@link ALL}. */
export function queryOf(filter: Filter): string {
  const set = Object.entries(filter).filter(([name, value]) => value !== ALL[name as keyof Filter]);
  return new URLSearchParams(set.map(([name, value]) => [name, `${value}`])).toString();
}

export function filterOf(query: string): Filter {
  const { ascending, ...given } = Object.fromEntries(new URLSearchParams(query));
  return { ...ALL, ...given, ascending: ascending === 'true' };
}

export function listOf(filter: Filter, limit: number): string {
  return `/api/runs?${queryOf(filter)}&limit=${limit}`;
}
