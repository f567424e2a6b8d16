import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readConfig, StackConfig } from '../../../pipeline/common/config.ts';
import { ownDirectory } from '../../../pipeline/stack/directory.ts';
import { Stack } from '../../../pipeline/stack/stack.ts';
import type { Lab } from '../../lab/lab.ts';
import { type Plan, wantsProxy } from '../../lab/networks.ts';
import { openRoute, portOf, type Route, writeGeneratorStack } from '../../lab/route.ts';
import { Toxiproxy } from '../../lab/toxiproxy.ts';

/** A pipeline that the tools reach over a network. */
export class RemotePipeline {
  readonly #plan: Plan;
  readonly #lab: Lab | undefined;
  readonly #dir = join(resolve(readConfig(StackConfig).STACK_DIR), 'compare');
  #toxiproxy: Toxiproxy | undefined;
  #route: Route | undefined;

  /** @param lab whose pipeline namespace this process is in; undefined: all processes share the loopback */
  constructor(plan: Plan, lab: Lab | undefined) {
    this.#plan = plan;
    this.#lab = lab;
  }

  /** The directory of the tools' stack.json. */
  get toolsDir(): string {
    return join(this.#dir, 'generator');
  }

  /** The command prefix of a tool. */
  get within(): string[] {
    return this.#lab?.within('generator') ?? [];
  }

  async open(): Promise<Stack> {
    const [plan, lab] = [this.#plan, this.#lab];
    await ownDirectory(this.#dir);
    if (wantsProxy(plan)) this.#toxiproxy = await Toxiproxy.start(this.#dir);
    const own = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0', STACK_DIR: this.#dir };
    const config = readConfig(StackConfig, { ...process.env, ...own });
    const stack = await Stack.start(config, {}, { listen: lab === undefined ? '127.0.0.1' : '0.0.0.0' });
    try {
      const { ingest, mqtt } = stack.file;
      const ports = { ingest: portOf(ingest.url), mqtt: portOf(mqtt.url) };
      this.#route = await openRoute(plan, { lab, toxiproxy: this.#toxiproxy }, ports);
      await writeGeneratorStack(this.#dir, stack.file, this.#route, plan);
      return stack;
    } catch (error) {
      await stack.stop(0);
      throw error;
    }
  }

  /** Call it after the tools and the pipeline have ended. */
  async close(): Promise<void> {
    await this.#route?.close();
    await this.#toxiproxy?.stop();
    // Without a route the directory may be another process's.
    if (this.#route !== undefined) await rm(this.toolsDir, { recursive: true, force: true });
  }
}
