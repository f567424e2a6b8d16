/** The built pages, for tests. */
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPORTS = fileURLToPath(new URL('..', import.meta.url));
const SHARED = ['page/**/*.*', 'contract/*.*', '*.ts'];
/** Pages by Vite mode. */
const PAGES = {
  production: { built: 'dist/index.html', sources: SHARED },
  comparison: { built: 'dist/comparison/index.html', sources: [...SHARED, 'comparison/**/*.*'] },
  referee: { built: 'dist/referee/index.html', sources: [...SHARED, 'referee/**/*.*'] },
  history: { built: 'dist/history/index.html', sources: [...SHARED, 'history/**/*.*'] },
};

/** @returns a page below reports/dist, rebuilt if it is older than its sources */
export async function template(mode: keyof typeof PAGES = 'production'): Promise<string> {
  const { sources } = PAGES[mode];
  const built = join(REPORTS, PAGES[mode].built);
  const changed = await Promise.all(
    globSync(sources, { cwd: REPORTS }).map((file) => modified(join(REPORTS, file))),
  );
  if (Math.max(...changed) > (await modified(built))) await rebuild(mode, built);
  return readFile(built, 'utf8');
}

/** Builds into a temporary folder, then moves the page: other test files run at the same time. */
async function rebuild(mode: string, built: string): Promise<void> {
  const { build } = await import('vite');
  const outDir = await mkdtemp(join(REPORTS, 'dist-'));
  try {
    await build({ configFile: join(REPORTS, 'vite.config.ts'), mode, build: { outDir } });
    await mkdir(dirname(built), { recursive: true });
    await rename(join(outDir, 'index.html'), built);
  } finally {
    await rm(outDir, { recursive: true });
  }
}

/** Modification time, ms; 0 for a missing file. */
async function modified(path: string): Promise<number> {
  return stat(path).then(
    (info) => info.mtimeMs,
    () => 0,
  );
}
