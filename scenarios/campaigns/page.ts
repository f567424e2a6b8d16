import { join } from 'node:path';
import { execa } from 'execa';
import { shortPath } from '../../pipeline/stack/file.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Makes one page of several runs. What a run refused or lost stands on top of it: none is refused for that. */
export async function comparePage(
  page: string,
  dirs: readonly string[],
  ...flags: readonly string[]
): Promise<void> {
  const args = ['compare', '--allow-failed', ...flags, '--out', page, ...dirs];
  const { all, failed } = await execa(process.execPath, [join(ROOT, 'reports/main.ts'), ...args], {
    cwd: ROOT,
    reject: false,
    all: true,
  });
  if (failed) throw new Error(`the runs could not be compared: ${all}`);
  console.log(`comparison  ${shortPath(page)}`);
}
