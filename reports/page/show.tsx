import { type ComponentChildren, render } from 'preact';
import limits from '../contract/limits.json' with { type: 'json' };
import { turns, visible } from '../format.ts';
import { holdLoad } from './before-load.ts';

/** The data of a page, as JSON. `shown` has its foreign text visible. */
export interface PageData<T> {
  held: T;
  shown: T;
}

interface PageOf<T> {
  schema: string;
  /** The subject of the page: a run. */
  what: string;
  title: (data: T) => string;
  view: (data: PageData<T>) => ComponentChildren;
}

/** Shows the data that was put into this page, or says why it cannot. */
export function show<T extends object>(page: PageOf<T>): void {
  holdLoad(
    read(page).then((data) => {
      if (typeof data !== 'string') document.title = page.title(data.shown);
      const root = document.getElementById('report') as HTMLElement;
      root.replaceChildren(); // the static content is for browsers that run no script
      render(typeof data === 'string' ? <p class="plain">{data}</p> : page.view(data), root);
    }),
  );
}

async function read<T extends object>({ schema, what }: PageOf<T>): Promise<PageData<T> | string> {
  let data: { held: T & { schema?: string }; shown: T } | null;
  try {
    const packed: string | null = JSON.parse(document.getElementById('run')?.textContent ?? 'null');
    data = packed === null ? null : await unpack(packed);
  } catch {
    return 'The data in this page is damaged: it cannot be read.';
  }
  if (data === null)
    return `This page holds no ${what}: it is the template that a ${what}’s data is put into.`;
  if (data.held.schema !== schema)
    return `This page shows data of the form ${schema}, not ${data.held.schema}.`;
  return data;
}

/** JSON, compressed with gzip, in base64. */
async function unpack<T>(packed: string): Promise<PageData<T>> {
  const binary = atob(packed);
  const bytes = new Uint8Array(binary.length);
  // Uint8Array.from took 0.2 s for the megabyte of an hour.
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const json = new Response(bytes).body?.pipeThrough(new DecompressionStream('gzip'));
  const text = await new Response(json?.pipeThrough(atMost(limits.file_bytes))).text();
  const held = JSON.parse(text);
  return { held, shown: turns(text) ? JSON.parse(visible(text)) : held };
}

/** Ends a stream with an error after so many bytes: a megabyte of gzip may hold a gigabyte. */
function atMost(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = bytes;
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.length;
      if (left < 0) controller.error(new Error('larger than any run'));
      else controller.enqueue(chunk);
    },
  });
}
