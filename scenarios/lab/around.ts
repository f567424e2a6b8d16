/** Makes networks, and runs a campaign in the pipeline's namespace. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { RunConfig, readConfig, StackConfig } from '../../pipeline/shared/config.ts';
import { leash } from '../../pipeline/stack/leash.ts';
import { buildToxiproxy } from '../../pipeline/test/toxiproxy.ts';
import { type IO, print } from '../run/io.ts';
import { Lab } from './lab.ts';
import { type By, type Means, type Network, type Plan, planOf, sentence, wantsProxy } from './networks.ts';

/** The variable that hands the lab to the process in the pipeline's namespace. */
const LAB = 'ARRIVAL_LAB';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Rejects settings of a pipeline of the user's own, which cannot be put behind a network of ours.
 * @param campaign the command that makes networks, for the message
 */
export function refuseOwnPipeline(campaign: string, env: NodeJS.ProcessEnv): void {
  const config = readConfig(RunConfig, env);
  for (const name of ['INGEST_URL', 'REDIS_URL', 'MQTT_URL'] as const)
    if (config[name] !== undefined) throw new Error(`${name} is set, and ${campaign}: leave it out`);
  if (config.TLS) throw new Error(`TLS is true, and ${campaign}, which speaks no TLS: leave it out`);
  readConfig(StackConfig, env);
}

/**
 * Runs `body` in the pipeline's network namespace, by starting this process's command again there; without namespaces, in this process.
 * @param body gets the plan of each network, and the lab if there is one
 * @returns its exit code
 */
export async function overNetworks(
  networks: readonly Network[],
  by: By,
  io: IO,
  body: (plans: Plan[], lab: Lab | undefined) => Promise<number>,
): Promise<number> {
  const description = process.env[LAB];
  if (description !== undefined) {
    const lab = Lab.parse(description);
    return body(plansOf(networks, by, lab.means), lab);
  }

  // `body` handles Ctrl-C, in another process too; the lab stays until it has stopped.
  let interrupted = false;
  for (const signal of SIGNALS)
    process.on(signal, () => {
      interrupted = true;
    });
  const lab = await openLab(by);
  try {
    const plans = plansOf(networks, by, typeof lab === 'string' ? meansWithout(lab) : lab.means);
    for (const plan of plans) print(io, `network     ${sentence(plan)}`);
    if (plans.some(wantsProxy)) await buildToxiproxy();
    if (interrupted) return 1;
    if (typeof lab === 'string') return await body(plans, undefined);
    return await inside(lab);
  } finally {
    if (typeof lab !== 'string') await lab.close();
  }
}

/** The namespaces, or why there are none. Rejects when `--by kernel` cannot have them. */
async function openLab(by: By): Promise<Lab | string> {
  if (by === 'proxy') return '--by proxy';
  const refusal = Lab.refusal();
  const lab = refusal ?? (await Lab.open().catch((error: Error) => error.message));
  if (by === 'kernel' && typeof lab === 'string') throw new Error(`--by kernel: ${lab}`);
  return lab;
}

function meansWithout(refusal: string): Means {
  return { namespaces: refusal, netem: refusal, tbf: refusal, nftables: refusal };
}

/** Plans all networks. Rejects when `--by kernel` cannot make one. */
function plansOf(networks: readonly Network[], by: By, means: Means): Plan[] {
  const plans = networks.map((network) => planOf(network, means));
  const short = plans.find(({ shortcomings }) => shortcomings.length > 0);
  if (by === 'kernel' && short !== undefined)
    throw new Error(`--by kernel: ${short.network.name} would have ${short.shortcomings.join('; ')}`);
  return plans;
}

/** Runs this command once more, in the pipeline's namespace. */
async function inside(lab: Lab): Promise<number> {
  const [command = '', ...args] = [...lab.within('pipeline'), process.execPath, ...process.argv.slice(1)];
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, [LAB]: lab.serialize() } });
  leash.hold(child.pid as number);
  // The terminal signals the child itself; forward a kill of this process alone.
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, 'exit');
  leash.release(child.pid as number);
  return code ?? 1;
}
