import type { Run } from '../contract/run.ts';
import { Report } from './report.tsx';
import { show } from './show.tsx';

show<Run>({
  schema: 'arrival/run/1' satisfies Run['schema'],
  what: 'run',
  title: ({ run }) => `${run.name} – Arrival report`,
  view: ({ held, shown }) => <Report run={shown} held={held} />,
});
