import { render } from 'preact';
import type { Run } from '../run.ts';
import { Report } from './report.tsx';

const SCHEMA: Run['schema'] = 'arrival/run/1';

async function readRun(): Promise<Run | string> {
  const text = document.getElementById('run')?.textContent ?? 'null';
  let data: Partial<Run> | null;
  try {
    const packed: string | null = JSON.parse(text);
    data = packed === null ? null : await unpack(packed);
  } catch {
    return 'The data in this page is damaged: it can not be read.';
  }
  if (data === null) return 'This page holds no run: it is the template that a run’s data is put into.';
  if (data.schema !== SCHEMA) return `This page shows data of the form ${SCHEMA}, not ${data.schema}.`;
  return data as Run;
}

/** JSON, compressed with gzip, in base64. */
async function unpack(packed: string): Promise<Partial<Run>> {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  // Not Uint8Array.from, which took 0.2 s for the megabyte of an hour.
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}

const run = await readRun();
if (typeof run !== 'string') document.title = `${run.run.name} – Arrival report`;
render(
  typeof run === 'string' ? <p class="plain">{run}</p> : <Report run={run} />,
  document.getElementById('report') as HTMLElement,
);
