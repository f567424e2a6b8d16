import { show } from '../../page/show.tsx';
import type { Referee } from '../result.ts';
import { Page } from './page.tsx';

show<Referee>({
  schema: 'arrival/referee/1' satisfies Referee['schema'],
  what: 'result',
  title: () => 'How far off is each load generator? – Arrival referee',
  view: ({ shown }) => <Page result={shown} />,
});
