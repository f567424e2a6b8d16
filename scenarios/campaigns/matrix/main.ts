/** `npm run matrix`: every topology over every network. */
import { printFolded } from '../../../pipeline/common/fold.ts';
import { exitAfter } from '../../../pipeline/stack/explain.ts';
import { requireNginx } from '../../../pipeline/stack/nginx.ts';
import { overNetworks, refuseOwnPipeline } from '../../lab/around.ts';
import { campaign } from './campaign.ts';
import { HELP, readOptions } from './options.ts';

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    printFolded(HELP);
    return 0;
  }
  refuseOwnPipeline('the matrix starts a pipeline of its own for each cell');
  if (options.topologies.includes('cluster')) await requireNginx();
  return overNetworks(options.networks, options.by, (plans, lab) => campaign(options, plans, lab));
}

exitAfter(main());
