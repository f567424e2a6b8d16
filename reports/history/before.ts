/** What the history adds to the page of a run: how its p99 is from the last like run. */
import { pipeline, type Readable, Transform } from 'node:stream';
import { BEFORE, type Before } from '../page/before.ts';
import type { Change } from './entry.ts';
import { compareOf } from './page/links.ts';

const DATA = '<script id="run"';

/** A page with the change in front of its data. A file that is not a page stays as it is. */
export function tellBefore(page: Readable, { from, p99 }: Change, directory: string): Readable {
  const before: Before = { name: from, p99, comparison: compareOf([from, directory]) };
  const json = JSON.stringify(before).replaceAll('<', '\\u003c');
  const element = `<script id="${BEFORE}" type="application/json">${json}</script>`;
  let kept = '';
  let told = false;
  const shown = new Transform({
    // Latin-1 keeps each byte: a chunk may end within a character.
    transform(chunk: Buffer, _encoding, done) {
      if (told) return done(null, chunk);
      const text = kept + chunk.toString('latin1');
      const at = text.indexOf(DATA);
      told = at >= 0;
      // The place may be cut by the end of a chunk.
      const end = told ? text.length : Math.max(0, text.length - DATA.length);
      const shown = told
        ? text.slice(0, at) + Buffer.from(element).toString('latin1') + text.slice(at)
        : text;
      kept = text.slice(end);
      done(null, Buffer.from(told ? shown : text.slice(0, end), 'latin1'));
    },
    flush(done) {
      done(null, told ? undefined : Buffer.from(kept, 'latin1'));
    },
  });
  // An error of the file ends what is sent: the reader sees half a page, as without us.
  return pipeline(page, shown, () => {});
}
