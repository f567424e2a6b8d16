import { useLayoutEffect, useState } from 'preact/hooks';
import type { Run } from '../contract/run.ts';
import { beforeLoad } from './before-load.ts';
import type { PartProps } from './part.ts';
import { FindingsSection } from './parts/findings.tsx';
import { FlowsSection } from './parts/flows.tsx';
import { Header } from './parts/header.tsx';
import { TrustSection } from './parts/instrument.tsx';
import { LatencySection } from './parts/latency.tsx';
import { Menu } from './parts/menu.tsx';
import { ResourcesSection } from './parts/resources.tsx';
import { Footer, SetupSection } from './parts/setup.tsx';
import { StagesSection } from './parts/stages.tsx';
import { TimelineSection } from './parts/timeline.tsx';

/**
 * The whole page, the answer first.
 * @param held what the page's downloads are made from: the run, with its text as it is
 */
export function Report({ run, held }: { run: Run; held: Run }) {
  const props: PartProps = { run, sound: run.account.balanced };
  return (
    <>
      <Header {...props} />
      <Below {...props} held={held} />
    </>
  );
}

/** The sections below the answer, made when the answer is on the screen. */
function Below({ held, ...props }: PartProps & { held: Run }) {
  const [begun, setBegun] = useState(false);
  useLayoutEffect(() => beforeLoad(() => setBegun(true)), []);
  if (!begun) return null;
  return (
    <>
      <Menu {...props} />
      <FindingsSection {...props} />
      {props.sound && <StagesSection {...props} />}
      <TimelineSection {...props} />
      {props.sound && <LatencySection {...props} />}
      <FlowsSection {...props} />
      <TrustSection {...props} />
      <ResourcesSection {...props} />
      <SetupSection {...props} held={held} />
      <Footer run={props.run} />
    </>
  );
}
