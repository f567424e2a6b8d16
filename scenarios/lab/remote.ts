import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readConfig, StackConfig } from '../../pipeline/shared/config.ts';
import { ownDirectory } from '../../pipeline/stack/directory.ts';
import type { StackFile } from '../../pipeline/stack/file.ts';
import { Stack } from '../../pipeline/stack/stack.ts';
import { Toxiproxy } from '../../pipeline/test/toxiproxy.ts';
import type { Lab } from './lab.ts';
import { factsOf, type Plan, wantsProxy } from './networks.ts';
import { openRoute, portOf, type Route, writeGeneratorStack } from './route.ts';

/** Chooses free ports. */
export const PORTS = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0' };

/** Starts pipelines that a generator reaches over a network, one pipeline and one network at a time. */
export class Remote {
  readonly dir: string;
  /** The directory of the generator's stack.json. */
  readonly generatorDir: string;
  readonly #lab: Lab | undefined;
  readonly #env: NodeJS.ProcessEnv;
  #toxiproxy: Toxiproxy | undefined;
  #isOurs = false;

  /**
   * @param name the name of its directory
   * @param lab we run in its namespace of the pipeline; undefined: all processes share the loopback interface
   */
  constructor(name: string, lab: Lab | undefined, env: NodeJS.ProcessEnv) {
    this.dir = join(resolve(readConfig(StackConfig, env).STACK_DIR), name);
    this.#env = env;
    this.generatorDir = join(this.dir, 'generator');
    this.#lab = lab;
  }

  /** The command prefix that runs a generator. */
  get within(): string[] {
    return this.#lab?.within('generator') ?? [];
  }

  /** The address that the pipeline's servers listen on. */
  get listen() {
    return this.#lab === undefined ? '127.0.0.1' : '0.0.0.0';
  }

  /** Call this first. */
  async prepare(plans: readonly Plan[]): Promise<void> {
    await ownDirectory(this.dir);
    if (plans.some(wantsProxy)) this.#toxiproxy = await Toxiproxy.start(this.dir);
  }

  async start(settings: NodeJS.ProcessEnv = {}): Promise<Stack> {
    const env = { ...this.#env, ...PORTS, STACK_DIR: this.dir, ...settings };
    const stack = await Stack.start(readConfig(StackConfig, env), {}, { listen: this.listen });
    this.#isOurs = true;
    return stack;
  }

  /** Opens a route to servers of the pipeline, by name; without `plan`, one without emulation. */
  route(plan: Plan | undefined, ports: Record<string, number>): Promise<Route> {
    return openRoute(plan, { lab: this.#lab, toxiproxy: this.#toxiproxy }, ports);
  }

  /** Opens the route to ingest and broker, and writes the generator's stack.json. */
  async reach(plan: Plan | undefined, stack: StackFile): Promise<Route> {
    const ports = { ingest: portOf(stack.ingest.url), mqtt: portOf(stack.mqtt.url) };
    const route = await this.route(plan, ports);
    await writeGeneratorStack(this.dir, stack, route, plan && factsOf(plan));
    return route;
  }

  /** Call this when generator and pipeline have ended. */
  async close(): Promise<void> {
    await this.#toxiproxy?.stop();
    await this.#lab?.clear().catch(() => {}); // it may be about to vanish
    // Otherwise another command owns the directory.
    if (this.#isOurs) await rm(this.generatorDir, { recursive: true, force: true });
  }
}
