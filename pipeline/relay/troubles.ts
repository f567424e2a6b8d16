import type { Logger } from '../common/log.ts';
import type { Problem } from '../common/readiness.ts';
import { Trouble } from '../common/trouble.ts';
import type { MessageQueue } from '../queue/queue.ts';

/** WORK names what a relay does with the queue, with what the log says when it can do it again. */
const WORK = {
  claims: 'messages are claimed again',
  takeovers: 'messages of dead relays are taken over again',
  leases: 'leases are renewed again',
  acknowledgements: 'delivered messages leave the queue again',
  letters: 'messages that the broker does not take leave the queue again',
};
export type Work = keyof typeof WORK;

/**
 * A missing connection is reported after this many ms: connections break one after the other, and on a busy machine a new one takes
 * seconds. `/readyz` names it at once.
 */
const CONNECTION_MS = 10_000;

/** Troubles knows which work with the queue a relay cannot do now. */
export class Troubles {
  readonly #queue: Pick<MessageQueue, 'away' | 'explain' | 'isDisconnection'>;
  readonly #of: Record<Work, Trouble>;

  constructor(queue: Pick<MessageQueue, 'away' | 'explain' | 'isDisconnection'>, log: Logger) {
    this.#queue = queue;
    const of = Object.entries(WORK).map(([work, over]) => [work, new Trouble(log, over)]);
    this.#of = Object.fromEntries(of) as Record<Work, Trouble>;
  }

  /** @param of the part that failed: a shard by its name, an entry by its id */
  failed(work: Work, error: Error, of: { name?: string | undefined; part?: string } = {}): void {
    const { away } = this.#queue;
    const problem = this.#queue.explain(error);
    const others = Object.entries(this.#of).filter(([other]) => other !== work);
    const isSaid = others.some(([, trouble]) => trouble.has(problem.problem));
    // The connection logs by itself that the queue is away.
    const isSilent = away !== undefined || isSaid;
    const patienceMs = this.#queue.isDisconnection(error) ? CONNECTION_MS : 0;
    this.#of[work].begin(problem, {
      name: of.name ?? '',
      part: of.part ?? of.name ?? '',
      afterMs: isSilent ? Number.POSITIVE_INFINITY : patienceMs,
    });
  }

  done(work: Work, part?: string): void {
    this.#of[work].end(part);
  }

  /** @param works the kinds of work that wait to be done */
  problems(works: readonly Work[]): Problem[] {
    const all = works.flatMap((work) => this.#of[work].problem ?? []);
    // One cause may hinder all of it.
    return all.filter(({ problem }, n) => all.findIndex((other) => other.problem === problem) === n);
  }
}
