import type { Run } from '../contract/run.ts';
import { readBefore } from './before.ts';
import { Report, titleOf } from './report.tsx';
import { show } from './show.tsx';

show<Run>({
  schema: 'arrival/run/1' satisfies Run['schema'],
  what: 'run',
  title: titleOf,
  view: ({ held, shown }) => (
    <Report
      run={shown}
      held={held}
      place={{ served: location.pathname.startsWith('/runs/'), before: readBefore() }}
    />
  ),
});
