import { changeText, instant, visible } from '../../format.ts';
import type { Turned } from '../entry.ts';
import { compareOf, reportOf } from './links.ts';

/** Differences of two runs that are named; a comparison has all. */
const MOST_NAMED = 2;

/** A sentence for each load whose p99 has changed for good. @param names of the loads */
export function Turns({ turns, names }: { turns: Turned[]; names: Map<string, string> }) {
  const shown = turns.filter(({ like }) => names.has(like));
  if (shown.length === 0) return null;
  return (
    <ul class="turns">
      {shown.map(({ like, directory, from, number, of, started, p99, differs }) => (
        <li key={like}>
          {visible(names.get(like) ?? '')}: <strong>p99 {changeText(p99)}</strong> since{' '}
          <a href={reportOf(directory)}>
            run {number} of {of}
          </a>{' '}
          ({[instant(started), ...differs.slice(0, MOST_NAMED).map(visible)].join('; ')}
          {differs.length > MOST_NAMED && `; ${differs.length - MOST_NAMED} more`}).{' '}
          <a href={compareOf([from, directory])}>Compare it with the one before</a>
        </li>
      ))}
    </ul>
  );
}
