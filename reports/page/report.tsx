import { useLayoutEffect, useState } from 'preact/hooks';
import type { Run } from '../contract/run.ts';
import { beforeLoad } from './before-load.ts';
import type { PartProps } from './part.ts';
import { FindingsSection } from './parts/findings.tsx';
import { FlowsSection } from './parts/flows.tsx';
import { Header, type Place } from './parts/header.tsx';
import { TrustSection } from './parts/instrument.tsx';
import { LatencySection } from './parts/latency.tsx';
import { Menu } from './parts/menu.tsx';
import { ResourcesSection } from './parts/resources.tsx';
import { Footer, SetupSection } from './parts/setup.tsx';
import { StagesSection } from './parts/stages.tsx';
import { TimelineSection } from './parts/timeline.tsx';

/** ReportProps is what the page of a run is made from. */
export interface ReportProps {
  run: Run;
  /** The run with its foreign text as it is, for downloads. */
  held: Run;
  place: Place;
}

/** The title of the page's window. */
export function titleOf({ run }: Run): string {
  return `${run.name} – Arrival report`;
}

/** The whole page, the answer first. */
export function Report(props: ReportProps) {
  return (
    <>
      <FirstScreen {...props} />
      <Below {...props} />
    </>
  );
}

/** The first screen. */
export function FirstScreen({ run, place }: ReportProps) {
  return <Header run={run} sound={run.account.balanced} {...place} />;
}

/** Makes the sections when the answer is on the screen. */
function Below(props: ReportProps) {
  const [begun, setBegun] = useState(false);
  useLayoutEffect(() => beforeLoad(() => setBegun(true)), []);
  return begun ? <Sections {...props} /> : null;
}

/** The sections below the answer. */
export function Sections({ run, held }: ReportProps) {
  const props: PartProps = { run, sound: run.account.balanced };
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
      <Footer run={run} />
    </>
  );
}
