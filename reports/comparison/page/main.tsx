import { show } from '../../page/show.tsx';
import type { Comparison } from '../comparison.ts';
import { Page } from './page.tsx';

show<Comparison>({
  schema: 'arrival/comparison/2' satisfies Comparison['schema'],
  what: 'comparison',
  title: ({ subjects }) => `${subjects.map(({ title }) => title).join(' – ')} – Arrival comparison`,
  view: ({ shown }) => <Page comparison={shown} served={location.pathname === '/compare'} />,
});
