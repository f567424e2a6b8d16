import { gunzipSync } from 'fflate';
import { render } from 'preact';
import type { Run } from '../contract/run.ts';
import { visible } from './format.ts';
import { Report } from './report.tsx';

const SCHEMA: Run['schema'] = 'arrival/run/1';

interface Held {
  /** As run.json has it. */
  held: Run;
  /** As it is read: foreign text is visible. */
  run: Run;
}

function readRun(): Held | string {
  const element = document.getElementById('run')?.textContent ?? 'null';
  let data: Partial<Run> | null;
  let shown: Partial<Run> | null;
  try {
    const packed: string | null = JSON.parse(element);
    const text = packed === null ? 'null' : unpack(packed);
    data = JSON.parse(text);
    shown = visible(text) === text ? data : JSON.parse(visible(text));
  } catch {
    return 'The data in this page is damaged: it can not be read.';
  }
  if (data === null) return 'This page holds no run: it is the template that a run’s data is put into.';
  if (data.schema !== SCHEMA) return `This page shows data of the form ${SCHEMA}, not ${data.schema}.`;
  return { held: data as Run, run: shown as Run };
}

/** JSON, compressed with gzip, in base64. Not with DecompressionStream: the load event would not wait for it. */
function unpack(packed: string): string {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  // Not Uint8Array.from, which took 0.2 s for the megabyte of an hour.
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TextDecoder().decode(gunzipSync(bytes));
}

const read = readRun();
if (typeof read !== 'string') document.title = `${read.run.run.name} – Arrival report`;
render(
  typeof read === 'string' ? <p class="plain">{read}</p> : <Report {...read} />,
  document.getElementById('report') as HTMLElement,
);
