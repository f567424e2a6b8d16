/** Artillery (470 MB). The first command that needs it installs it, beside the plugin, from its own lock file. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { duration, plain } from '../../reports/format.ts';
import { type IO, print } from './io.ts';

const DIR = join(import.meta.dirname, '../../extensions/artillery-plugin-arrival/artillery');
const BIN = join(DIR, 'node_modules/artillery/bin/run');
/** The folder where Artillery looks for plugins. */
export const PLUGINS = join(DIR, 'plugins');
/** A copy of the lock file that was installed. */
const DONE = join(DIR, 'node_modules/.installed');

/** No browser, no usage reports. */
export const QUIET = {
  PUPPETEER_SKIP_DOWNLOAD: '1',
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  ARTILLERY_DISABLE_TELEMETRY: 'true',
};

/** Installs it if needed. @returns the program for Node */
export async function installed(io: Pick<IO, 'stdout'>): Promise<string> {
  const lock = readFileSync(join(DIR, 'package-lock.json'), 'utf8');
  if (lock === read(DONE)) return BIN;
  io.stdout.write('setup  Artillery, 470 MB, on first use … ');
  const started = performance.now();
  const npm = spawn('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: DIR,
    env: { ...process.env, ...QUIET },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve, reject) => {
    npm.once('error', reject);
    npm.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`Artillery could not be installed: npm ci in ${DIR} ended with ${code}`);
  writeFileSync(DONE, lock);
  print(io, `ok ${plain(duration((performance.now() - started) / 1000))}`);
  return BIN;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
