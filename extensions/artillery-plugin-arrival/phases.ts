/** How the phases of a run end, and in the closed model also how they begin. Times are s since the start of the run. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from './ledger.ts';
import type { Schedule } from './schedule.ts';
import type { Taken } from './taken.ts';
import { monotonic, type Told } from './thread.ts';

/** ms between two looks at a phase that goes on */
const LOOK = 50;
/** ms between two looks whether everything has arrived that a phase waits for */
const STEP = 5;
/** s; how long the last requests of the closed model are waited for */
const LONGEST_REQUEST = 120;

export interface PhaseEnd {
  /** Deliveries owed when it was over. */
  backlog: number;
  /** s until none was owed any more; null: not, or nobody waited. */
  drained: number | null;
}

type Owed = Pick<Ledger, 'owed' | 'inFlight'>;

/** Open model: adds the phases that are over by now, and fills in when the last one had drained. */
export function noteEnds(ends: PhaseEnd[], schedule: Schedule, now: number, { owed, inFlight }: Owed): void {
  schedule.phases.forEach((phase, i) => {
    const { start = now } = schedule.span(i, now) ?? {};
    if (now < start + phase.duration || ends[i] !== undefined) return;
    ends[i] = { backlog: Math.max(0, owed), drained: null };
  });
  const last = ends[schedule.phases.length - 1];
  if (last === undefined || last.drained !== null || owed !== 0 || inFlight !== 0) return;
  const { start, length } = schedule.span(schedule.phases.length - 1, now) ?? { start: now, length: 0 };
  last.drained = Math.max(0, now - start - length);
}

/** Leads the phases of the closed model, one after the other. */
export class Leader {
  readonly ends: PhaseEnd[] = [];
  readonly #taken: Taken;
  readonly #ledger: Owed;
  readonly #now: () => number;
  readonly #tell: (told: Told) => void;
  #stopped = false;
  #onIdle = (): void => {};

  constructor(taken: Taken, ledger: Owed, now: () => number, tell: (told: Told) => void) {
    this.#taken = taken;
    this.#ledger = ledger;
    this.#now = now;
    this.#tell = tell;
  }

  /** To be told when no request is under way and none may begin. */
  idle(): void {
    this.#onIdle();
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when nothing more will be sent. */
  async lead(): Promise<void> {
    let start = 0;
    for (const [phase, { duration, vus = 0, drain }] of this.#taken.phases.entries()) {
      const end = start + duration;
      this.#taken.begin(start);
      this.#tell({ tell: 'turn', turn: { phase, vus, until: monotonic() + (end - this.#now()) * 1e6 } });
      while (this.#now() < end && !this.#stopped)
        await sleep(Math.min(LOOK, Math.max(1, (end - this.#now()) * 1000)));
      this.#taken.end(end);
      const at: PhaseEnd = { backlog: this.#ledger.owed, drained: null };
      this.ends.push(at);
      start = end;
      if (drain === undefined) continue;
      const idle = this.#idle(drain);
      this.#tell({ tell: 'turn', turn: { phase, vus: 0, until: 0 } });
      await idle;
      while (this.#ledger.owed > 0 && this.#now() < end + drain && !this.#stopped) await sleep(STEP);
      if (this.#ledger.owed === 0) at.drained = this.#now() - end;
      start = this.#now();
    }
    const idle = this.#idle(LONGEST_REQUEST);
    this.#tell({ tell: 'over' });
    await idle;
    this.#taken.complete = true;
  }

  /** @param limit s */
  #idle(limit: number): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    return Promise.race([idle, sleep(limit * 1000, undefined, { ref: false })]);
  }
}
