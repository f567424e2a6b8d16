import { count, duration, figure, plural } from '../../format.ts';
import type { PartProps } from '../part.ts';
import { LongTable } from '../table.tsx';

/** The load as it was planned. */
export function Profile({ run: { run } }: { run: PartProps['run'] }) {
  const { name, phases } = run.profile;
  if (phases.length === 0) return null;
  const closed = run.model === 'closed';
  return (
    <div class="profile">
      <h3>Profile</h3>
      <LongTable
        what="phases"
        caption={`${name.slice(0, 200)}, as planned: ${closed ? 'so many VUs send one request after the other' : 'requests are due at these rates'}`}
        columns={[
          { head: 'phase', text: true, cell: (phase) => phase.name },
          { head: 'duration', cell: lengthOf },
          ...(closed
            ? [{ head: 'VUs', cell: (phase: Phase) => count(phase.vus) }]
            : [
                { head: 'from', unit: 'requests/s', cell: (phase: Phase) => figure(phase.arrival_rate) },
                {
                  head: 'to',
                  unit: 'requests/s',
                  cell: (phase: Phase) => figure(phase.ramp_to ?? phase.arrival_rate),
                },
              ]),
          { head: 'measured', text: true, cell: (phase) => (phase.measured ? 'yes' : 'no') },
        ]}
        rows={phases}
      />
    </div>
  );
}

type Phase = PartProps['run']['run']['profile']['phases'][number];

/** 60 s, or what ends the phase before its duration does. */
function lengthOf({ duration_s, requests }: Phase): string {
  return requests === undefined
    ? duration(duration_s)
    : `${plural(requests, 'request')}, at most ${duration(duration_s)}`;
}
