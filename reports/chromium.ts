/** The system's Chromium: nothing is downloaded. Without its windows, as the headless shell is, it takes half of the CPU. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [
  process.env.CHROMIUM,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Chromium's path, from CHROMIUM or the usual places. */
export function findChromium(): string {
  const found = PLACES.find((path) => path !== undefined && existsSync(path));
  if (found === undefined) {
    throw new Error('no Chromium: npm run setup -- --test installs it, or name its path in CHROMIUM');
  }
  return found;
}

/** @throws where there is none */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: ARGS });
}
