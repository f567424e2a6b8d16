#!/usr/bin/env node
import { onInterrupt } from '../../pipeline/stack/interrupt.ts';
/** `npx artillery`: Artillery itself, which finds the plugin by name. The set-up links this file; the first use installs Artillery. */
import { exitCodeOf } from './against.ts';
import { ArtilleryRun, installed } from './artillery-run.ts';
import { runProcess } from './io.ts';

runProcess(async (argv, env, io) => {
  const run = new ArtilleryRun(await installed(io), argv, env);
  onInterrupt(
    (signal) => run.signal(signal),
    () => run.signal('SIGKILL'),
  );
  return exitCodeOf(await run.ended);
});
