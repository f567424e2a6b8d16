import type { Comparison } from '../comparison.ts';

/** PartProps is what each part of a comparison's page is given. */
export interface PartProps {
  comparison: Comparison;
}

/** PageProps is what the page is made from. */
export interface PageProps extends PartProps {
  /** The history serves the page. */
  served: boolean;
}
