import { readFileSync } from 'node:fs';
import type { Run } from '../contract/run.ts';

export const GOLDENS = [
  'passing',
  'failing',
  'refusing',
  'incomplete',
  'started',
  'unbalanced',
  'without-stages',
  'own-stages',
  'gap',
  'closed',
  'spike',
  'fixed',
  'soak',
  'connections',
  'throughput',
  'capacity',
  'three',
  'unjudged',
  'hostile',
  'real',
] as const;

export type GoldenName = (typeof GOLDENS)[number];

/** A text that breaks a page which does not escape it: the hostile run has it in all names. */
export const HOSTILE = '</script><img src=x onerror="document.title=1"><b>&amp;\u2028$&';

/** A fresh copy of a committed golden run. */
export function golden(name: GoldenName): Run {
  return JSON.parse(readFileSync(new URL(`../testdata/${name}.json`, import.meta.url), 'utf8'));
}
