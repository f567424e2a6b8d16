import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../../../reports/contract/run.ts';
import type { RigOptions } from './build.ts';
import { Checks, type OtherEnd } from './checks.ts';
import type { FurtherOptions, Load } from './load.ts';
import type { Rig } from './rig.ts';

/** How large a campaign is. */
export interface Scale {
  /** Messages/s of a case's load. */
  rate: number;
  /** At least so many messages in a case. */
  messages: number;
  /** s that a server which is taken away stays away. */
  outage: number;
  /** s of a load that is more than the pipeline can carry. */
  flood: number;
}

/** A row of the campaign. */
export interface Case {
  /** Its number, which stays when others come and go. */
  row: number;
  fault: string;
  expected: string;
  /** Returns the run whose account is shown, if there is one. */
  play: (scene: Scene) => Promise<Run | undefined>;
}

/** What a case has to work with. Everything that it starts ends with it. */
export class Scene {
  readonly scale: Scale;
  readonly checks = new Checks();
  readonly #open: (options: RigOptions) => Promise<Rig>;
  readonly #harmless: boolean;

  /** @param harmless leaves out the harm of the case, which then has to fail. */
  constructor(scale: Scale, open: (options: RigOptions) => Promise<Rig>, harmless = false) {
    this.scale = scale;
    this.#open = open;
    this.#harmless = harmless;
  }

  /** Does the harm that the case is about. Undefined where it is left out. */
  async harm<T>(act: () => T | Promise<T>): Promise<T | undefined> {
    return this.#harmless ? undefined : act();
  }

  rig(options: RigOptions = {}): Promise<Rig> {
    return this.#open(options);
  }

  /** A load of the campaign's size, which goes on for `atLeast` seconds. */
  load(rig: Rig, further: FurtherOptions = {}, atLeast = 6): Promise<Load> {
    const { rate, messages } = this.scale;
    return rig.load(rate, Math.max(atLeast, Math.ceil(messages / rate)), further);
  }

  /** A load of the campaign's size that is spread over `seconds`. */
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

  /** The end of a load: its account balances over enough messages, which all arrived or ended in one of the `allowed` ways. */
  async settle(load: Load, ...allowed: OtherEnd[]): Promise<Run> {
    const run = await load.result();
    this.checks.account(run, this.scale.messages, allowed);
    return run;
  }
}
