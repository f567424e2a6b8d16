/** `node reports/main.ts <run directory>`: writes index.html anew from run.json. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { renderReport } from './render.ts';
import type { Run } from './run.ts';
import { validateRun } from './validate.ts';

const USAGE = `Usage: node reports/main.ts <run directory>

Writes the report of a run, <run directory>/index.html, anew from its run.json.`;
const TEMPLATE = fileURLToPath(new URL('dist/index.html', import.meta.url));

try {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help) {
    console.log(USAGE);
  } else {
    const [directory, ...more] = positionals;
    if (directory === undefined || more.length > 0) {
      throw new Error(`expected one run directory, got ${positionals.length}; --help tells more`);
    }
    console.log(await report(directory));
  }
} catch (error) {
  console.error(`report: ${(error as Error).message.split('\n')[0]}`);
  process.exitCode = 1;
}

/** @returns the path of the report */
async function report(directory: string): Promise<string> {
  const run = await readRun(join(directory, 'run.json'));
  const template = await readFile(TEMPLATE, 'utf8').catch(() => {
    throw new Error(`${TEMPLATE} is missing: build it with vite build --config reports/vite.config.ts`);
  });
  const path = join(directory, 'index.html');
  await writeFile(path, renderReport(run, template));
  return path;
}

async function readRun(path: string): Promise<Run> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? `${path} does not exist` : `${path}: ${error.message}`);
  });
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${(error as Error).message}`);
  }
  const [first, ...more] = validateRun(data);
  if (first !== undefined) {
    throw new Error(`${path}: ${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`);
  }
  return data as Run;
}
