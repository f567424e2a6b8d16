/** Reads files of a run: only those that a run writes, and no symbolic links. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import limits from './contract/limits.json' with { type: 'json' };

/** Files of a run with their media types. */
export const FILES: Record<string, string> = {
  'index.html': 'text/html; charset=utf-8',
  'run.json': 'application/json; charset=utf-8',
  'summary.json': 'application/json; charset=utf-8',
  'timeline.ndjson': 'application/x-ndjson; charset=utf-8',
  'arrival.hlog': 'text/plain; charset=utf-8',
  'summary.md': 'text/markdown; charset=utf-8',
  'junit.xml': 'application/xml; charset=utf-8',
  'traced.ndjson': 'application/x-ndjson; charset=utf-8',
  'spans.ndjson.gz': 'application/gzip',
  'traces.otlp.json': 'application/json; charset=utf-8',
};

/** The name of an instance's directory in that of the run. */
export const OF_GENERATOR = /^generator-\d+$/;

/**
 * @param directory the directory of a run
 * @returns null if it has no such file, or something else in its place
 */
export async function openFile(directory: string, name: string): Promise<FileHandle | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(directory, name), flags).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ELOOP', 'ENXIO', 'ENOTDIR', 'EACCES'].includes(error.code ?? '')) return null;
    throw error;
  });
  if (file === null || (await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

/**
 * @param most bytes
 * @returns null if the directory has no such file, or something else in its place
 * @throws if it is larger
 */
async function readBytes(directory: string, name: string, most: number): Promise<Buffer | null> {
  const file = await openFile(directory, name);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const pieces: Buffer[] = [];
    for await (const piece of piecesOf(file, name, most, Math.min(size, most) + 1)) pieces.push(piece);
    return Buffer.concat(pieces);
  } finally {
    await file.close();
  }
}

const CHUNK = 262_144;

/**
 * The bytes of a file, which may grow meanwhile.
 * @param first the length of the first piece
 * @throws if there are more than `most`
 */
export async function* piecesOf(
  file: FileHandle,
  name: string,
  most: number,
  first = CHUNK,
): AsyncGenerator<Buffer> {
  const tooLarge = (bytes: number) => new Error(`${name} has ${bytes} bytes or more; up to ${most} are read`);
  const { size } = await file.stat();
  if (size > most) throw tooLarge(size);
  for (let length = 0, next = first; ; next = CHUNK) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(next), 0, next, length);
    if (bytesRead === 0) return;
    length += bytesRead;
    if (length > most) throw tooLarge(length);
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * @returns null if the directory has no such file, or something else in its place
 * @throws if it is larger than any run's
 */
export async function readText(directory: string, name: string): Promise<string | null> {
  return (await readBytes(directory, name, limits.file_bytes))?.toString() ?? null;
}

/**
 * @param most bytes
 * @returns the parsed file; undefined if the directory has no such file, or something else in its place
 * @throws if it is larger, has more values than any run, or is not JSON
 */
export async function readJson(
  directory: string,
  name: string,
  most: number = limits.file_bytes,
): Promise<unknown> {
  const bytes = await readBytes(directory, name, most);
  if (bytes === null) return undefined;
  const values = valuesIn(bytes);
  if (values > limits.json_values)
    throw new Error(`${name} has about ${values} values; up to ${limits.json_values} are read`);
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw new Error(`${name} is not JSON: ${(error as Error).message.split('\n')[0]}`);
  }
}

const BEFORE_VALUES = new Set([...'[{,'].map((one) => one.charCodeAt(0)));

/** About how many values a JSON text has: parsed, each takes up to a hundred times its length. It counts inside of texts too. */
function valuesIn(bytes: Buffer): number {
  if (bytes.length <= limits.json_values) return 0; // it cannot have more
  let n = 0;
  for (const byte of bytes) if (BEFORE_VALUES.has(byte)) n++;
  return n;
}
