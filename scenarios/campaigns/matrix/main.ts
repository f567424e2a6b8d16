/** `npm run matrix`: every topology over every network. */
import { isEntry } from '../../../pipeline/shared/entry.ts';
import { printFolded } from '../../../pipeline/shared/fold.ts';
import { requireNginx } from '../../../pipeline/stack/nginx.ts';
import { overNetworks, refuseOwnPipeline } from '../../lab/around.ts';
import { settingsOf } from '../../lib/declarations.js';
import { type IO, runProcess } from '../../run/io.ts';
import { leaveOutIgnored } from '../../run/usage.ts';
import { measureMatrix } from './campaign.ts';
import { HELP, readOptions } from './options.ts';

/** Measures the matrix, and returns the exit code of the command. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv, io: IO): Promise<number> {
  const options = readOptions(argv);
  if (options === 'help') {
    printFolded(HELP, io.stdout);
    return 0;
  }
  refuseOwnPipeline('the matrix starts a pipeline of its own for each cell', env);
  const settings = options.capacity ? Object.keys(settingsOf('capacity')) : [];
  leaveOutIgnored('scenarios/matrix.ts', env, io, { name: 'npm run matrix', settings });
  if (options.topologies.includes('cluster')) await requireNginx();
  return overNetworks(options.networks, options.by, io, (plans, lab) =>
    measureMatrix(options, plans, lab, { argv, env, io }),
  );
}

if (isEntry(import.meta)) runProcess(main);
