/** `npm run matrix`: every topology over every network. Makes the networks, and runs campaign.ts where the pipeline is to be. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { RunConfig, readConfig, StackConfig } from '../../pipeline/config.ts';
import { buildToxiproxy } from '../../pipeline/faults/toxiproxy.ts';
import { explain } from '../../pipeline/stack/explain.ts';
import { leash } from '../../pipeline/stack/leash.ts';
import { requireNginx } from '../../pipeline/stack/nginx.ts';
import { campaign } from './campaign.ts';
import { Lab } from './lab.ts';
import { type Means, type Plan, planOf, sentence, wantsProxy } from './networks.ts';
import { HELP, type Options, readOptions } from './options.ts';

/** What tells the process in the pipeline's namespace of the lab. */
const LAB = 'ARRIVAL_MATRIX_LAB';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(HELP);
    return 0;
  }
  checkEnvironment();
  if (options.topologies.includes('cluster')) await requireNginx();
  const told = process.env[LAB];
  if (told !== undefined) {
    const lab = Lab.told(told);
    return campaign(options, plansOf(options, lab.means), lab);
  }

  // Ctrl-C is the campaign's, also where it is another process: what it needs is there until it has stopped.
  let interrupted = false;
  for (const signal of SIGNALS)
    process.on(signal, () => {
      interrupted = true;
    });
  const lab = await openLab(options);
  try {
    const plans = plansOf(options, typeof lab === 'string' ? means(lab) : lab.means);
    for (const plan of plans) console.log(`network     ${sentence(plan)}`);
    if (plans.some(wantsProxy)) await buildToxiproxy();
    if (interrupted) return 1;
    if (typeof lab === 'string') return await campaign(options, plans, undefined);
    return await inside(lab);
  } finally {
    if (typeof lab !== 'string') await lab.close();
  }
}

/** A pipeline of the user's own is where it is: no network of ours leads there. */
function checkEnvironment(): void {
  const config = readConfig(RunConfig);
  for (const name of ['INGEST_URL', 'REDIS_URL', 'MQTT_URL'] as const)
    if (config[name] !== undefined)
      throw new Error(
        `${name} is set, and the matrix starts a pipeline of its own for each cell: leave it out`,
      );
  if (config.TLS) throw new Error('TLS is true, and the matrix speaks none: leave it out');
  readConfig(StackConfig);
}

/** The namespaces, or why there are none. Rejects where they are asked for and can't be had. */
async function openLab({ by }: Options): Promise<Lab | string> {
  if (by === 'proxy') return '--by proxy';
  const refusal = Lab.refusal();
  const lab = refusal ?? (await Lab.open().catch((error: Error) => error.message));
  if (by === 'kernel' && typeof lab === 'string') throw new Error(`--by kernel: ${lab}`);
  return lab;
}

function means(refusal: string): Means {
  return { namespaces: refusal, netem: refusal, tbf: refusal, nftables: refusal };
}

/** Rejects where the kernel alone is asked for, and can't do it. */
function plansOf({ networks, by }: Options, means: Means): Plan[] {
  const plans = networks.map((network) => planOf(network, means));
  const short = plans.find(({ shortcomings }) => shortcomings.length > 0);
  if (by === 'kernel' && short !== undefined)
    throw new Error(`--by kernel: ${short.network.name} would have ${short.shortcomings.join('; ')}`);
  return plans;
}

/** Runs this command once more, in the pipeline's namespace. */
async function inside(lab: Lab): Promise<number> {
  const [command = '', ...args] = [
    ...lab.within('pipeline'),
    process.execPath,
    import.meta.filename,
    ...process.argv.slice(2),
  ];
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, [LAB]: lab.tell() } });
  leash.hold(child.pid as number);
  // The terminal signals it too; a kill of this process alone is handed on.
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, 'exit');
  leash.release(child.pid as number);
  return code ?? 1;
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    explain(error);
    process.exit(1);
  },
);
