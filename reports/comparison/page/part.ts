import type { Comparison } from '../comparison.ts';

/** PartProps is what each part of a comparison's page is given. */
export interface PartProps {
  comparison: Comparison;
}
