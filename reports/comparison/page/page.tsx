import type { PageProps } from './part.ts';
import { AccountsSection } from './parts/accounts.tsx';
import { AdditionsSection } from './parts/additions.tsx';
import { DifferencesSection } from './parts/differences.tsx';
import { Header } from './parts/header.tsx';
import { LatencySection } from './parts/latency.tsx';
import { StagesSection } from './parts/stages.tsx';
import { StepsSection } from './parts/steps.tsx';
import { SweepSection } from './parts/sweep.tsx';

/** The whole page, the answer first. */
export function Page({ served, ...props }: PageProps) {
  // Messages that did not arrive are not part of any figure below.
  const failed = props.comparison.subjects.some((subject) => subject.failed !== null);
  return (
    <>
      <Header {...props} served={served} />
      {failed && <AccountsSection {...props} />}
      <AdditionsSection {...props} />
      <DifferencesSection {...props} />
      <StagesSection {...props} />
      <LatencySection {...props} />
      <SweepSection {...props} />
      <StepsSection {...props} />
      {!failed && <AccountsSection {...props} />}
    </>
  );
}
