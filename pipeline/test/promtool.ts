import assert from 'node:assert/strict';
import { execa } from 'execa';
import { installCommand, isInstalled } from '../setup/packages.mjs';

/** Runs Prometheus' promtool, and asserts that it finds no problem. */
export async function promtool(args: string[], input = ''): Promise<void> {
  assert.ok(isInstalled('promtool'), `promtool is missing. Type: ${installCommand(['promtool'])}`);
  const { exitCode, all } = await execa('promtool', args, { input, reject: false, all: true });
  assert.equal(exitCode, 0, all);
}
