/** The list of runs for the terminal, which runs a reader means, and in which order. */
import { printable } from '../../pipeline/shared/printable.ts';
import { signOf, verdictText } from '../comparison/doubts.ts';
import { ms } from '../format.ts';
import type { Entry, Misfit } from './entry.ts';

const NAMING = [
  'name',
  'directory',
  'tool',
  'method',
  'topology',
  'network',
  'profile',
  'load',
  'verdict',
] as const satisfies (keyof Entry)[];

/** Whether the texts that name the run contain all the words, ignoring case. */
export function matches(entry: Entry, words: string): boolean {
  const text = [
    ...NAMING.map((key) => entry[key]),
    ...entry.conditions,
    entry.job?.name ?? '',
    ...labelsOf(entry),
  ]
    .join('\n')
    .toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export const STATES = ['pass', 'fail', 'undecided', 'invalid', 'incomplete', 'running'] as const;

export function stateOf(entry: Pick<Entry, 'live' | 'verdict' | 'undecided'>): (typeof STATES)[number] {
  if (entry.live) return 'running';
  return verdictText(entry);
}

/** ramp:artillery runs the load of ramp, with other limits and other reach. */
export function scriptOf({ method, tool }: Pick<Entry, 'method' | 'tool'>): string {
  return tool === 'k6' ? method : `${method}:${tool}`;
}

/** build: 17 */
export function labelsOf({ labels }: Pick<Entry, 'labels'>): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}: ${value}`);
}

export function listText(entries: readonly Entry[], misfits: readonly Misfit[], words: string): string {
  const shown = entries.filter((entry) => matches(entry, words));
  const wide = shown.reduce((most, { missed }) => Math.max(most, missed?.text.length ?? 0), 0);
  const lines = shown.map((entry) =>
    [
      stateOf(entry).padEnd(10),
      `p99 ${entry.arrival?.p99 == null ? '' : signOf(entry.doubt)}${ms(entry.arrival?.p99)} ms`.padEnd(16),
      (entry.missed?.text ?? '').padEnd(wide),
      plain(entry.directory),
      plain(labelsOf(entry).join(', ')),
    ]
      .join('  ')
      .trimEnd(),
  );
  if (lines.length === 0)
    lines.push(entries.length === 0 ? 'no runs yet: npm run ramp makes one' : 'no such run');
  return [
    ...lines,
    ...misfits.map(({ directory, error }) => `unreadable  ${plain(directory)}: ${plain(error)}`),
  ].join('\n');
}

/** A name that may be of any length. */
function plain(text: string): string {
  return printable(text.slice(0, 200));
}
