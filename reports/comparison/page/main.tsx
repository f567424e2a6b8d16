import { render } from 'preact';
import { visible } from '../../page/format.ts';
import type { Comparison } from '../comparison.ts';
import { Page } from './page.tsx';

const SCHEMA: Comparison['schema'] = 'arrival/comparison/1';

function readComparison(): Comparison | string {
  const text = document.getElementById('run')?.textContent ?? 'null';
  let data: Partial<Comparison> | null;
  try {
    data = JSON.parse(visible(text));
  } catch {
    return 'The data in this page is damaged: it is not JSON.';
  }
  if (data === null) return 'This page holds no comparison: it is the template that one is put into.';
  if (data.schema !== SCHEMA) return `This page shows data of the form ${SCHEMA}, not ${data.schema}.`;
  return data as Comparison;
}

const comparison = readComparison();
if (typeof comparison !== 'string') {
  document.title = `${comparison.subjects.map(({ title }) => title).join(' – ')} – Arrival comparison`;
}
render(
  typeof comparison === 'string' ? <p class="plain">{comparison}</p> : <Page comparison={comparison} />,
  document.getElementById('report') as HTMLElement,
);
