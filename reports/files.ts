/** Reads files of a run: only those that a run writes, and no symbolic links. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';

/** Files of a run with their media types. */
export const FILES: Record<string, string> = {
  'index.html': 'text/html; charset=utf-8',
  'run.json': 'application/json; charset=utf-8',
  'timeline.ndjson': 'application/x-ndjson; charset=utf-8',
  'arrival.hlog': 'text/plain; charset=utf-8',
  'summary.md': 'text/markdown; charset=utf-8',
  'junit.xml': 'application/xml; charset=utf-8',
  'traces.otlp.json': 'application/json; charset=utf-8',
};

/** The name of an instance's directory in that of the run. */
export const OF_GENERATOR = /^generator-\d+$/;

/**
 * @param directory of a run
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

/** @returns null if the directory has no such file, or something else in its place */
export async function readText(directory: string, name: string): Promise<string | null> {
  const file = await openFile(directory, name);
  if (file === null) return null;
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
