/** What the page says of a comparison, in sentences. Pure. */
import { msUnit } from '../../page/format.ts';
import type { Comparison, Subject } from '../comparison.ts';
import { change, range } from '../words.ts';

/** One sentence for each subject but the baseline. */
export function answers({ subjects, rows }: Comparison): string[] {
  return subjects.slice(1).map((subject, k) => {
    const named = `${subject.letter} (${short(subject.title)})`;
    if (subject.obstacle !== null) return `${named}: ${subject.obstacle}.`;
    const why = new Set<string>();
    const parts = ['arrival.p50', 'arrival.p99'].flatMap((name) => {
      const row = rows.find((one) => one.name === name);
      const difference = row?.differences[k + 1];
      if (row === undefined || difference == null) return [];
      const figures = `${msUnit(row.values[0])} → ${msUnit(row.values[k + 1])}`;
      const percentile = name.split('.')[1];
      if (difference.interval === null) {
        if (difference.why !== null) why.add(difference.why);
        return [`${percentile} ${figures}, ${change(difference.relative)} as measured`];
      }
      return [`${percentile} ${figures}, ${difference.word} (${range(difference)})`];
    });
    return parts.length > 0
      ? [
          `${named} against A: arrival ${parts.join('; ')}.`,
          ...[...why].map((reason) => `No interval: ${reason}.`),
        ].join(' ')
      : `${named}: nothing to compare.`;
  });
}

/** A title that fits a legend. */
export function short(title: string): string {
  return title.length > 48 ? `${title.slice(0, 47)}…` : title;
}

/** B · cluster */
export function legend({ letter, title }: Pick<Subject, 'letter' | 'title'>): string {
  return `${letter} · ${short(title)}`;
}
