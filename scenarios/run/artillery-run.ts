/** Artillery with the plugin: its installation (470 MB, beside the plugin, by the first command that needs it) and a run. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { locked } from '../../pipeline/setup/steps.mjs';
import { isEntry } from '../../pipeline/shared/entry.ts';
import { Child } from '../../pipeline/stack/child.ts';
import { duration, plain } from '../../reports/format.ts';
import { type IO, print } from './io.ts';

const DIR = join(import.meta.dirname, '../../extensions/artillery-plugin-arrival/artillery');
const BIN = join(DIR, 'node_modules/artillery/bin/run');
/** The folder where Artillery looks for plugins. */
const PLUGINS = join(DIR, 'plugins');
/** A copy of the lock file that was installed. */
const DONE = join(DIR, 'node_modules/.installed');
/** Two installations at once would remove each other's files. */
const INSTALLING = join(import.meta.dirname, '../../.stack/artillery.pid');

/** No browser, no usage reports. */
export const QUIET = {
  PUPPETEER_SKIP_DOWNLOAD: '1',
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  ARTILLERY_DISABLE_TELEMETRY: 'true',
};

/** Installs Artillery from its own lock file, if needed. @returns the program for Node */
export async function installed(io: Pick<IO, 'stdout'>): Promise<string> {
  const lock = readFileSync(join(DIR, 'package-lock.json'), 'utf8');
  if (lock !== read(DONE)) await locked(INSTALLING, () => install(lock, io));
  return BIN;
}

async function install(lock: string, io: Pick<IO, 'stdout'>): Promise<void> {
  if (lock === read(DONE)) return; // by another command meanwhile
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
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * With Node's default of 16 MB each collection of the young generation delayed requests by 21 ms (median, at 200 requests/s); with
 * 4 MB by 3.5 ms, 14 times as often.
 */
const YOUNG = '--max-semi-space-size=4';

/** The same program as words of a shell, in the repository's root. */
export const ARTILLERY = `node ${YOUNG} ${relative(join(import.meta.dirname, '../..'), BIN)}`;

export class ArtilleryRun extends Child {
  /**
   * @param bin what {@link installed} returned
   * @param args `run` and what follows it
   * @param within a command that execs it elsewhere, like in a network namespace
   */
  constructor(bin: string, args: readonly string[], env: NodeJS.ProcessEnv, within: readonly string[] = []) {
    super([...within, process.execPath, YOUNG, bin, ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      kind: 'artillery',
      env: { ...env, ...QUIET, ARTILLERY_PLUGIN_PATH: PLUGINS },
    });
  }
}

// The referee names this file as the way to install Artillery: from the same lock file, one install at a time.
if (isEntry(import.meta)) await installed(process);
