import { ahead, type Bracket, type Search } from './search.ts';

/** Runs of a rate, on average: half of the rates do not hold, and these run twice. */
const TRIES = 1.5;

/** Confirming runs of a correct search: the rate holds, the next one up does not, twice. */
const CONFIRMING = 3;

/** Seconds of a run. */
export interface Lengths {
  /** A probe while the rate doubles, which longer probes check. */
  quick: number;
  /** A probe after that. */
  probe: number;
  /** A confirming run. */
  confirm: number;
}

/** The time of a search, s: its limit, the cost of runs, and the rest. */
export class Budget {
  readonly #limit: number;
  readonly #lengths: Lengths;
  readonly #now: () => number;
  #began: number | undefined;
  /** Seconds of a run beyond its load: k6's start, the warm-up, the drain. */
  #beyond = 5;
  #runs = 0;

  constructor(limit: number, lengths: Lengths, now = () => performance.now() / 1000) {
    this.#limit = limit;
    this.#lengths = lengths;
    this.#now = now;
  }

  /** Starts the time. */
  begin(): void {
    this.#began = this.#now();
  }

  /** Records how long a run of so many seconds took. */
  took(seconds: number, all: number): void {
    this.#runs++;
    this.#beyond += (all - seconds - this.#beyond) / this.#runs;
  }

  /** The shortest possible search. */
  get least(): number {
    return this.#cost(this.#lengths.probe) + this.#confirming;
  }

  /** Whether there is time for another probe before the confirmation. */
  get hasProbe(): boolean {
    return this.#fits(this.#cost(this.#lengths.probe) + this.#confirming);
  }

  /** Whether there is time for another confirming run. */
  get hasConfirmation(): boolean {
    return this.#fits(this.#cost(this.#lengths.confirm));
  }

  /** The time left of a search, about. */
  ofSearch(found: Bracket, wanted: Search): number {
    const { doublings, halvings } = ahead(found, wanted);
    const probes =
      doublings * this.#cost(this.#lengths.quick) + halvings * TRIES * this.#cost(this.#lengths.probe);
    return Math.min(probes + this.#confirming, this.#left);
  }

  /** The time left of the confirmation, about. */
  ofConfirming(found: Bracket, wanted: Search): number {
    const { held, notHeld } = found;
    let runs = held > 0 ? CONFIRMING - 1 : CONFIRMING;
    if (held > 0 && notHeld !== undefined) runs = TRIES * ahead(found, wanted).halvings;
    else if (held === wanted.highest || notHeld === wanted.lowest) runs = 0;
    return Math.min(runs * this.#cost(this.#lengths.confirm), this.#left);
  }

  /** The minutes that would do for a search that ended with a bracket for want of time, about. */
  enoughFor(found: Bracket, wanted: Search): number {
    const { quick, probe, confirm } = this.#lengths;
    const doublings = Math.ceil(Math.abs(Math.log2(found.held / wanted.start))) + 2;
    const halvings = ahead({ held: found.held, notHeld: found.held * 2 }, wanted).halvings;
    const again = TRIES * (doublings * this.#cost(quick) + halvings * this.#cost(probe)) + this.#confirming;
    // Runs were repeated, or a longer one contradicted a probe: that may come again.
    const further = this.#limit + TRIES * (ahead(found, wanted).halvings || 1) * this.#cost(confirm);
    return Math.ceil((again > this.#limit ? again : further) / 60);
  }

  get #left(): number {
    return this.#limit - (this.#began === undefined ? 0 : this.#now() - this.#began);
  }

  get #confirming(): number {
    return CONFIRMING * this.#cost(this.#lengths.confirm);
  }

  #cost(seconds: number): number {
    return seconds + this.#beyond;
  }

  #fits(seconds: number): boolean {
    return seconds <= this.#left;
  }
}

/** A rounded time: 40 s, 3 min. */
export function about(seconds: number): string {
  return seconds < 90 ? `${Math.max(10, Math.ceil(seconds / 10) * 10)} s` : `${Math.round(seconds / 60)} min`;
}
