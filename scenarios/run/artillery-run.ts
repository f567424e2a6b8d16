/** Runs Artillery with the plugin. */
import { Child } from '../../pipeline/stack/child.ts';
import { PLUGINS, QUIET } from './artillery-install.ts';

/**
 * With Node's default of 16 MB each collection of the young generation delayed requests by 21 ms (median, at 200 requests/s); with
 * 4 MB by 3.5 ms, 14 times as often.
 */
const YOUNG = '--max-semi-space-size=4';

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
