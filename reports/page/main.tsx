import { render } from 'preact';
import type { Run } from '../run.ts';
import { Report } from './report.tsx';

const SCHEMA: Run['schema'] = 'arrival/run/1';

function readRun(): Run | string {
  const text = document.getElementById('run')?.textContent ?? 'null';
  let data: Partial<Run> | null;
  try {
    data = JSON.parse(text);
  } catch {
    return 'The data in this page is damaged: it is not JSON.';
  }
  if (data === null) return 'This page holds no run: it is the template that a run’s data is put into.';
  if (data.schema !== SCHEMA) return `This page shows data of the form ${SCHEMA}, not ${data.schema}.`;
  return data as Run;
}

const run = readRun();
if (typeof run !== 'string') document.title = `${run.run.name} – Arrival report`;
render(
  typeof run === 'string' ? <p class="plain">{run}</p> : <Report run={run} />,
  document.getElementById('report') as HTMLElement,
);
