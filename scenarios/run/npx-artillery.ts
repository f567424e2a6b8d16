#!/usr/bin/env node
import { exitAfter } from '../../pipeline/stack/explain.ts';
import { onInterrupt } from '../../pipeline/stack/interrupt.ts';
/** `npx artillery`: Artillery itself, which finds the plugin by name. The set-up links this file; the first use installs Artillery. */
import { exitCodeOf } from './against.ts';
import { installed } from './artillery-install.ts';
import { ArtilleryRun } from './artillery-run.ts';

async function main(): Promise<number> {
  const run = new ArtilleryRun(await installed(), process.argv.slice(2), process.env);
  onInterrupt(
    (signal) => run.signal(signal),
    () => run.signal('SIGKILL'),
  );
  return exitCodeOf(await run.ended);
}

exitAfter(main());
