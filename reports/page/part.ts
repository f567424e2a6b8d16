import type { Run } from '../contract/run.ts';

/** PartProps is what each part of a run's page is given. */
export interface PartProps {
  run: Run;
  /** The account balances, so latencies may be shown. */
  sound: boolean;
}
