import { ahead, type Bracket, type Search } from './search.ts';

/** What a rate costs, of which half do not hold and are tried twice. */
const TRIES = 1.5;

/** Longer runs of a search that was right: the rate held, and the next one up did not, twice. */
const CONFIRMING = 3;

/** Seconds of a run. */
export interface Lengths {
  /** Of a probe while the rate is doubled: what it says is looked at again. */
  quick: number;
  /** Of a probe, when the rate has been doubled as far as it goes. */
  probe: number;
  /** Of a run that confirms a rate. */
  confirm: number;
}

/** The time of a search, in s: what it may take, what its runs take, and what is left. */
export class Budget {
  readonly #limit: number;
  readonly #lengths: Lengths;
  readonly #now: () => number;
  #began: number | undefined;
  /** What a run takes beyond its seconds: k6's start, the warm-up, and what is still on its way. */
  #beyond = 5;
  #runs = 0;

  constructor(limit: number, lengths: Lengths, now = () => performance.now() / 1000) {
    this.#limit = limit;
    this.#lengths = lengths;
    this.#now = now;
  }

  /** From here on the time counts. */
  begin(): void {
    this.#began = this.#now();
  }

  /** A run of so many seconds has taken so long. */
  took(seconds: number, all: number): void {
    this.#runs++;
    this.#beyond += (all - seconds - this.#beyond) / this.#runs;
  }

  /** The least that a search takes. */
  get least(): number {
    return this.#cost(this.#lengths.probe) + this.#confirming;
  }

  /** Whether another run fits in before the answer has to be confirmed. */
  get hasProbe(): boolean {
    return this.#fits(this.#cost(this.#lengths.probe) + this.#confirming);
  }

  /** Whether another run that confirms fits in. */
  get hasConfirmation(): boolean {
    return this.#fits(this.#cost(this.#lengths.confirm));
  }

  /** What is left of a search, about. */
  ofSearch(found: Bracket, wanted: Search): number {
    const { doublings, halvings } = ahead(found, wanted);
    const probes =
      doublings * this.#cost(this.#lengths.quick) + halvings * TRIES * this.#cost(this.#lengths.probe);
    return Math.min(probes + this.#confirming, this.#left);
  }

  /** What is left of confirming its answer, about. */
  ofConfirming(found: Bracket, wanted: Search): number {
    const { held, notHeld } = found;
    let runs = held > 0 ? CONFIRMING - 1 : CONFIRMING;
    if (held > 0 && notHeld !== undefined) runs = TRIES * ahead(found, wanted).halvings;
    else if (held === wanted.highest || notHeld === wanted.lowest) runs = 0;
    return Math.min(runs * this.#cost(this.#lengths.confirm), this.#left);
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

/** 40 s, 3 min: as exactly as an estimate deserves. */
export function about(seconds: number): string {
  return seconds < 90 ? `${Math.max(10, Math.ceil(seconds / 10) * 10)} s` : `${Math.round(seconds / 60)} min`;
}
