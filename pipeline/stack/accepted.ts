/** Counts accepted messages in a piece of Redis' append-only file. */
import { unpackFrames } from '../queue/frame.ts';

/** The contents of a piece of the file. */
export interface Piece {
  /** No write is whole: not a command, or not more than the beginning of a transaction. */
  isIncomplete: boolean;
  /** Messages that these add to the queue, and do not take out again. */
  messages: number;
}

/** Of any prefix. */
const MESSAGES = /^[^:]+:(\{\d+\}:)?messages$/;
const LIST = /^[^:]+:list$/;

export function readPiece(bytes: Buffer): Piece {
  /** Messages of each entry, by key and id. */
  const added = new Map<string, number>();
  const names: string[] = [];
  let listed = 0;
  for (const [command = '', key = '', ...args] of commandsIn(bytes)) {
    const name = command.toString().toUpperCase();
    names.push(name);
    const where = key.toString();
    if (name === 'XADD' && MESSAGES.test(where)) added.set(`${where} ${args[0]}`, messagesOf(args));
    if (name === 'XDEL') for (const id of args) added.delete(`${where} ${id}`);
    if (name === 'LPUSH' && LIST.test(where)) listed += args.length;
    if (name === 'RPOP' && LIST.test(where)) listed = Math.max(0, listed - Number(args[0] ?? 1));
  }
  let messages = listed;
  for (const count of added.values()) messages += count;
  const isIncomplete = names.length === 0 || (names.lastIndexOf('MULTI') === 0 && !names.includes('EXEC'));
  return { isIncomplete, messages };
}

function messagesOf(args: readonly Buffer[]): number {
  const at = args.findIndex((arg) => arg.toString('latin1') === 'frame');
  try {
    return unpackFrames(args[at + 1] as Buffer).length;
  } catch {
    return 1;
  }
}

/** The commands, as their arguments; bytes that are none are skipped. */
function* commandsIn(bytes: Buffer): Generator<Buffer[]> {
  let at = bytes.indexOf('*');
  while (at >= 0) {
    const command = commandAt(bytes, at);
    if (command !== undefined) yield command.args;
    at = bytes.indexOf('*', command?.end ?? at + 1);
  }
}

/** The command that begins here, as Redis' protocol writes it: `*2 $4 XDEL $1 a`, each part in a line. */
function commandAt(bytes: Buffer, start: number): { args: Buffer[]; end: number } | undefined {
  let at = start;
  const line = (mark: string) => {
    const end = bytes.indexOf('\r\n', at);
    const text = end < 0 || end - at > 20 ? '' : bytes.toString('latin1', at, end);
    at = end + 2;
    return text.startsWith(mark) && /^\d+$/.test(text.slice(1)) ? Number(text.slice(1)) : Number.NaN;
  };
  const count = line('*');
  if (!(count > 0)) return undefined;
  const args: Buffer[] = [];
  while (args.length < count) {
    const length = line('$');
    if (
      !(at + length + 2 <= bytes.length) ||
      bytes.toString('latin1', at + length, at + length + 2) !== '\r\n'
    )
      return undefined;
    args.push(bytes.subarray(at, at + length));
    at += length + 2;
  }
  return { args, end: at };
}
