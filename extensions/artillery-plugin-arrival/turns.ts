/** Who may send, in the closed model: as many virtual users at a time as the phase has. The others wait, first come, first served. */
import { monotonic } from './thread.ts';

export interface Turn {
  phase: number;
  /** Requests that may be under way at a time; 0: none is to begin. */
  vus: number;
  /** µs of the monotonic clock: when it ends. */
  until: number;
}

/** Is granted the phase that it may send in; undefined: there is nothing more to send. */
type Waiting = (phase: number | undefined) => void;

export class Turns {
  readonly #onIdle: () => void;
  #turn: Turn = { phase: 0, vus: 0, until: 0 };
  #over = false;
  #underWay = 0;
  readonly #waiting: Waiting[] = [];

  /** @param onIdle told when a turn of 0 has begun, or all is over, and nothing is under way any more */
  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
  }

  begin(turn: Turn): void {
    this.#turn = turn;
    this.#serve();
    this.#rest();
  }

  end(): void {
    this.#over = true;
    for (const grant of this.#waiting.splice(0)) grant(undefined);
    this.#rest();
  }

  /** Resolves when one more request may be sent: in which phase. Who was granted one calls {@link done} after it. */
  next(): Promise<number | undefined> {
    if (this.#over) return Promise.resolve(undefined);
    return new Promise((grant) => {
      this.#waiting.push(grant);
      this.#serve();
    });
  }

  done(): void {
    this.#underWay--;
    this.#serve();
    this.#rest();
  }

  #serve(): void {
    const { phase, vus, until } = this.#turn;
    while (this.#underWay < vus && this.#waiting.length > 0 && monotonic() < until) {
      this.#underWay++;
      this.#waiting.shift()?.(phase);
    }
  }

  #rest(): void {
    if (this.#underWay === 0 && (this.#over || this.#turn.vus === 0)) this.#onIdle();
  }
}
