/** Decodes answers in Artillery's place: its own decoder, and that of its HTTP client, end the thread when they fail. */
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { lowered, type RequestParams } from './request.ts';
import type { Table } from './table.ts';

const CODINGS: Record<string, () => Transform> = {
  gzip: createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
};

/** Makes Artillery leave the answers to a post as they come. `isRead`: the script reads them, so that it wants them decoded. */
export function takeOver(post: Table, isRead: boolean): void {
  const wants = post.gzip ?? isRead;
  post.gzip = false;
  post.decodes = wants;
  if (wants) {
    // Artillery asks for it in this way.
    const headers = lowered(post.headers as Record<string, string> | undefined);
    post.headers = { 'accept-encoding': 'gzip, deflate, br', ...headers };
  }
}

/** Gives the decoded body to those who listen from now on; of one that can't be decoded, what came before the fault. */
export function decode(answer: IncomingMessage, { decodes }: RequestParams): void {
  const decoder = CODINGS[(answer.headers['content-encoding'] ?? '').toLowerCase()];
  if (decoder === undefined || !decodes) return;
  const decoded = answer.pipe(decoder());
  // The rest after the fault has to be read all the same, for the end of the answer.
  decoded.on('error', () => answer.resume());
  const on = answer.on.bind(answer);
  answer.on = (name: string, listener: (...args: never[]) => void) => {
    const listens = listener as () => void;
    if (name === 'data') decoded.on('data', listens);
    else if (name === 'end') decoded.once('end', listens).once('error', () => listens());
    else on(name, listens);
    return answer;
  };
}
