import { useEffect, useState } from 'preact/hooks';
import type { Run } from '../run.ts';
import { balance } from './facts.ts';
import { AccountSection } from './parts/account.tsx';
import { DetailsSection } from './parts/details.tsx';
import { FlowsSection } from './parts/flows.tsx';
import { Header } from './parts/header.tsx';
import { InstrumentSection } from './parts/instrument.tsx';
import { LatencySection } from './parts/latency.tsx';
import { PhasesSection } from './parts/phases.tsx';
import { ResourcesSection } from './parts/resources.tsx';
import { SampledSection } from './parts/sampled.tsx';
import { StagesSection } from './parts/stages.tsx';
import { SweepSection } from './parts/sweep.tsx';
import { TimelineSection } from './parts/timeline.tsx';

export interface PartProps {
  run: Run;
  /** The account balances, so latencies may be shown. */
  sound: boolean;
}

/** The whole page, the answer first. */
export function Report({ run }: { run: Run }) {
  const props: PartProps = { run, sound: balance(run.account).holds };
  return (
    <>
      <Header {...props} />
      <AccountSection {...props} />
      <Below {...props} />
    </>
  );
}

/** What is below the answer, made when the answer is on the screen. */
function Below(props: PartProps) {
  const [begun, setBegun] = useState(false);
  useEffect(() => setBegun(true), []);
  if (!begun) return null;
  return (
    <>
      {props.sound && <SweepSection {...props} />}
      {props.sound && <SampledSection {...props} />}
      {props.sound && <LatencySection {...props} />}
      {props.sound && <StagesSection {...props} />}
      <TimelineSection {...props} />
      <PhasesSection {...props} />
      <FlowsSection {...props} />
      <InstrumentSection {...props} />
      <ResourcesSection {...props} />
      <DetailsSection {...props} />
    </>
  );
}
