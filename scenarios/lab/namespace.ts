import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ownDirectory } from '../../pipeline/stack/directory.ts';
import { readStackFile } from '../../pipeline/stack/file.ts';
import { Supervised } from '../../pipeline/stack/process.ts';
import { Lab, PIPELINE_DIRECT } from './lab.ts';
import { portOf, writeGeneratorStack } from './route.ts';

/** A pipeline and its generator, each in its own network namespace. */
interface NamespacePipeline {
  /** The directory of the generator's stack.json. */
  dir: string;
  /** The command prefix that runs the generator. */
  within: string[];
  stop(): Promise<void>;
}

/**
 * Starts a pipeline in its own network namespace, joined with the generator's by veth, like containers. Rejects in one line when the
 * kernel refuses, with nothing left running.
 */
export async function startInNamespace(dir: string, env: Record<string, string>): Promise<NamespacePipeline> {
  const lab = await Lab.open();
  let pipeline: Supervised | undefined;
  const stop = async () => {
    await pipeline?.stop(15_000);
    await lab.close();
    await rm(join(dir, 'generator'), { recursive: true, force: true });
  };
  try {
    await ownDirectory(dir);
    const logs = join(dir, 'logs');
    await mkdir(logs, { recursive: true, mode: 0o700 });
    const inside = [...lab.within('pipeline'), process.execPath, join(import.meta.dirname, 'inside.ts')];
    const [command = '', ...args] = inside;
    const launch = { name: 'pipeline', command, args, env: { ...env, STACK_DIR: dir } };
    pipeline = await Supervised.start(launch, { logs });
    await pipeline.says(/^up$/, 60_000);
    const stack = await readStackFile(dir);
    if (stack === undefined) throw new Error(`the pipeline in the namespace left no stack.json in ${dir}`);
    const ports = { ingest: portOf(stack.ingest.url), mqtt: portOf(stack.mqtt.url) };
    const facts = { network_path: 'a network namespace of the pipeline, veth' };
    const own = await writeGeneratorStack(dir, stack, { host: PIPELINE_DIRECT, ports }, facts);
    return { dir: own, within: lab.within('generator'), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
