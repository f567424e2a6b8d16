/** How a connection ended that had been up. */
export type Ending = 'taken over' | 'unexplained' | 'explained';

/** A connection that ends earlier is short. */
const SHORT_MS = 60_000;
/** Short connections in a row that the broker ended without a reason, after which the next one is quiet. */
const SUSPICIOUS = 3;
/** How long a quiet connection publishes nothing: longer than another relay takes to reconnect. */
const QUIET_MS = 2000;
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Finds out whether another client has this one's name: the broker ends the connection of one when the other connects, and two relays
 * would go on like this for ever. MQTT 5 has a reason for it (0x8E), which not every broker gives, like Mosquitto 2.0.11. A message can
 * break connections too. So after some short connections the next one is quiet: if the broker ends it as well, no message is to blame.
 */
export class Takeovers {
  readonly #now: () => number;
  #began = 0;
  #short = 0;
  #isQuiet = false;
  /** The last pause; 0: there is no other client. */
  #pauseMs = 0;

  /** @param now ms of the monotonic clock */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** A connection is up. Returns for how long (ms) it publishes nothing. */
  began(): number {
    this.#began = this.#now();
    this.#isQuiet = this.#short >= SUSPICIOUS;
    return this.#isQuiet ? QUIET_MS : 0;
  }

  /** The broker has kept a quiet connection. */
  kept(): void {
    this.#isQuiet = false;
    this.#short = 0;
  }

  /** A connection has ended. Returns ms until the next attempt if another client has taken it over, else undefined. */
  ended(how: Ending): number | undefined {
    const isShort = this.#now() - this.#began < SHORT_MS;
    const again = this.#pauseMs > 0 && isShort;
    if (how === 'taken over' || (how === 'unexplained' && (this.#isQuiet || again))) {
      this.#short = 0;
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, again ? 2 * this.#pauseMs : FIRST_PAUSE_MS);
      return this.#pauseMs;
    }
    this.#short = how === 'unexplained' && isShort ? this.#short + 1 : 0;
    this.#pauseMs = 0;
    return undefined;
  }
}
