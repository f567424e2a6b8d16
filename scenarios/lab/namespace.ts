import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ownDirectory } from '../../pipeline/stack/directory.ts';
import { readStackFile, writeStackFile } from '../../pipeline/stack/file.ts';
import { DAEMON_PATH } from '../../pipeline/stack/launch.ts';
import { Supervised } from '../../pipeline/stack/process.ts';
import { atAddress, portOf } from './route.ts';
import { holdNamespace, inNamespaceOf, sh } from './shell.ts';

/** Addresses for documentation (RFC 5737), which no network has. */
const [HOST, PIPELINE] = ['192.0.2.9', '192.0.2.10'];

/**
 * A pipeline in its own network namespace, joined with the host by veth, like a container. The process that holds the namespace ends
 * with us, and both ends of the veth with it.
 */
export class NamespacePipeline {
  /** The directory of the generator's stack.json. */
  readonly dir: string;
  readonly #holders: Supervised[];

  private constructor(dir: string, holders: Supervised[]) {
    this.dir = dir;
    this.#holders = holders;
  }

  /** Rejects in one line when the kernel refuses, with nothing left running. */
  static async start(dir: string, env: Record<string, string>): Promise<NamespacePipeline> {
    await checkAddress();
    await ownDirectory(dir);
    const logs = join(dir, 'logs');
    await mkdir(logs, { recursive: true, mode: 0o700 });
    const own = join(dir, 'generator');
    const all = new NamespacePipeline(own, []);
    try {
      const holder = await holdNamespace('namespace', logs);
      all.#holders.push(holder);
      const link = `arrival${process.pid}`;
      await sh(`ip link add ${link} type veth peer name eth0 netns ${holder.pid}
        ip addr add ${HOST}/30 dev ${link}
        ip link set ${link} up`);
      const within = inNamespaceOf(holder.pid);
      await sh(
        `ip addr add ${PIPELINE}/30 dev eth0
        ip link set eth0 up`,
        within,
      );
      const [command = '', ...args] = [...within, process.execPath, join(import.meta.dirname, 'inside.ts')];
      const launch = { name: 'pipeline', command, args, env: { ...env, STACK_DIR: dir } };
      const pipeline = await Supervised.start(launch, { logs });
      all.#holders.push(pipeline);
      await pipeline.says(/^up$/, 60_000);
      const stack = await readStackFile(dir);
      if (stack === undefined) throw new Error(`the pipeline in the namespace left no stack.json in ${dir}`);
      await mkdir(own, { recursive: true, mode: 0o700 });
      await writeStackFile(own, {
        ...stack,
        ingest: { ...stack.ingest, url: inside(stack.ingest.url) },
        mqtt: { ...stack.mqtt, url: inside(stack.mqtt.url) },
        redis: { url: inside(stack.redis.url) },
        oneHost: true,
        facts: { ...stack.facts, network_path: 'a network namespace of the pipeline, veth' },
      });
      return all;
    } catch (error) {
      await all.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const holder of this.#holders.splice(0).reverse()) await holder.stop(15_000);
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Rejects when the address is in use: two pipelines would get each other's messages. */
async function checkAddress(): Promise<void> {
  const args = ['-o', 'addr', 'show', 'to', `${HOST}/30`];
  const { stdout } = await execa('ip', args, { env: { PATH: DAEMON_PATH } });
  if (stdout !== '')
    throw new Error(`${HOST} is an address of this host already: another npm run deployments is running`);
}

/** A URL with the address of the namespace. */
function inside(url: string): string {
  return atAddress(url, PIPELINE as string, portOf(url));
}
