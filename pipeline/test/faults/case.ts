import { setTimeout as sleep } from 'node:timers/promises';
import type { End, Run } from '../../../reports/contract/run.ts';
import type { RigOptions } from './build.ts';
import { Checks } from './checks.ts';
import type { FurtherOptions, Load } from './load.ts';
import type { Rig } from './rig.ts';

/** The scale of a campaign. */
export interface Scale {
  /** Messages/s of a case's load. */
  rate: number;
  /** Least messages of a case. */
  messages: number;
  /** How long a server is away, s. */
  outage: number;
  /** How long a load beyond what the pipeline can carry lasts, s. */
  flood: number;
}

/** A row of the campaign. */
export interface Case {
  /** Its number, which never changes. */
  row: number;
  fault: string;
  expected: string;
  /** Returns the run whose account is shown, if any. */
  play: (scene: Scene) => Promise<Run | undefined>;
}

/** The tools of a case. Everything that it starts ends with it. */
export class Scene {
  readonly scale: Scale;
  readonly checks = new Checks();
  readonly #open: (options: RigOptions) => Promise<Rig>;
  readonly #harmless: boolean;

  /** @param harmless does no harm: the case has to fail then */
  constructor(scale: Scale, open: (options: RigOptions) => Promise<Rig>, harmless = false) {
    this.scale = scale;
    this.#open = open;
    this.#harmless = harmless;
  }

  /** Does the harm of the case; undefined: it is left out. */
  async harm<T>(act: () => T | Promise<T>): Promise<T | undefined> {
    return this.#harmless ? undefined : act();
  }

  rig(options: RigOptions = {}): Promise<Rig> {
    return this.#open(options);
  }

  /** A load of the campaign's size, of at least `atLeast` seconds. */
  load(rig: Rig, further: FurtherOptions = {}, atLeast = 6): Promise<Load> {
    const { rate, messages } = this.scale;
    return rig.load(rate, Math.max(atLeast, Math.ceil(messages / rate)), further);
  }

  /** A load of the campaign's size, spread over `seconds`. */
  spread(rig: Rig, seconds: number, further: FurtherOptions = {}): Promise<Load> {
    const rate = Math.min(this.scale.rate, Math.ceil(this.scale.messages / seconds));
    return rig.load(rate, seconds, further);
  }

  wait(seconds: number): Promise<void> {
    return sleep(1000 * seconds);
  }

  /** A pipeline whose load has flowed for 2 s. */
  async underLoad(options?: RigOptions, further?: FurtherOptions, atLeast?: number) {
    const rig = await this.rig(options);
    const load = await this.load(rig, further, atLeast);
    await load.flowing(2);
    return { rig, load };
  }

  /** Waits for the end of a load, and checks that its account balances over enough messages, with arrived and `allowed` ends only. */
  async settle(load: Load, ...allowed: End[]): Promise<Run> {
    const run = await load.result();
    this.checks.account(run, this.scale.messages, allowed);
    return run;
  }
}
