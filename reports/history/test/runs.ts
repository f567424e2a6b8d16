/** Run directories for tests. */
import { appendFile, mkdir, mkdtemp, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '../../contract/run.ts';

export function temporaryRuns(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'arrival-runs-'));
}

export async function writeRun(
  root: string,
  name: string,
  run: Run,
  page = '<link rel="icon" href="data:,"><p>report</p>',
): Promise<string> {
  const directory = join(root, name);
  await mkdir(directory);
  const timeline = run.timeline.map((second) => `${JSON.stringify(second)}\n`).join('');
  await Promise.all([
    writeFile(join(directory, 'run.json'), JSON.stringify(run)),
    writeFile(join(directory, 'timeline.ndjson'), timeline),
    writeFile(join(directory, 'index.html'), page),
  ]);
  return directory;
}

/** Appends to a run's timeline, and dates it an hour ahead: a slow machine must not end the run. */
export async function grow(directory: string, text: string): Promise<void> {
  const path = join(directory, 'timeline.ndjson');
  await appendFile(path, text);
  const later = new Date(Date.now() + 3_600_000);
  await utimes(path, later, later);
}
