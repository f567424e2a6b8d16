/** A result of `npm run referee` as one page that needs nothing else. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fillPage } from '../render.ts';
import type { Referee } from './result.ts';

const TEMPLATE = fileURLToPath(new URL('../dist/referee/index.html', import.meta.url));

/**
 * Writes index.html beside referee.json.
 * @param template the built page
 * @returns its path
 */
export async function writeReferee(folder: string, result: Referee, template = TEMPLATE): Promise<string> {
  const built = await readFile(template, 'utf8').catch(() => {
    throw new Error(`${template} is missing: npm run setup builds it`);
  });
  const path = join(folder, 'index.html');
  await writeFile(path, fillPage(JSON.stringify(result), built));
  return path;
}
