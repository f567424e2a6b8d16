/** The built page, for tests. */
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const REPORTS = fileURLToPath(new URL('..', import.meta.url));
const BUILT = join(REPORTS, 'dist/index.html');
const SOURCES = ['page/**/*.*', 'run.ts', 'vite.config.ts'];

/** @returns reports/dist/index.html, built anew if it is older than its sources */
export async function template(): Promise<string> {
  const changed = await Promise.all(
    globSync(SOURCES, { cwd: REPORTS }).map((file) => modified(join(REPORTS, file))),
  );
  if (Math.max(...changed) > (await modified(BUILT))) await rebuild();
  return readFile(BUILT, 'utf8');
}

/** Builds beside, then moves: test files that run at the same time never see half a page. */
async function rebuild(): Promise<void> {
  const outDir = await mkdtemp(join(REPORTS, 'dist-'));
  try {
    await build({ configFile: join(REPORTS, 'vite.config.ts'), build: { outDir } });
    await mkdir(dirname(BUILT), { recursive: true });
    await rename(join(outDir, 'index.html'), BUILT);
  } finally {
    await rm(outDir, { recursive: true });
  }
}

/** ms; 0 if there is no such file. */
async function modified(path: string): Promise<number> {
  return stat(path).then(
    (info) => info.mtimeMs,
    () => 0,
  );
}
