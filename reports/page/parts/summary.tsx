import type { PartProps } from '../part.ts';
import { AccountLine } from './account.tsx';
import { Hero } from './hero.tsx';
import { InstrumentLine } from './instrument.tsx';
import { Journey } from './journey.tsx';
import { Tiles } from './tiles.tsx';

/** The first screen: figures beside their limits, the way of the messages, and the chart that answers the run's question. */
export function Summary({ run, sound }: PartProps) {
  return (
    <>
      {sound && <Tiles run={run} />}
      {run.facts.slower_requests && <p class="small why">{run.facts.slower_requests}</p>}
      {sound && <Journey run={run} />}
      {sound && <Hero run={run} />}
      <AccountLine run={run} sound={sound} />
      <InstrumentLine run={run} sound={sound} />
    </>
  );
}
