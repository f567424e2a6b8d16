import type { Queue } from '../queue/queue.ts';

const REFRESH_MS = 250;

/** Decides whether the queue can take more. It knows the depth from a quarter of a second ago at most. */
export class Admission {
  readonly #queue: Pick<Queue, 'ready' | 'depth'>;
  readonly #limit: number;
  #depth = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(queue: Pick<Queue, 'ready' | 'depth'>, limit: number) {
    this.#queue = queue;
    this.#limit = limit;
  }

  /** Why a message cannot be taken now, or undefined when it can. `unanswered` are not in the depth yet. */
  refusal(unanswered: number): string | undefined {
    if (!this.#queue.ready) return 'Redis is away';
    const backlog = this.#depth + unanswered;
    return backlog < this.#limit
      ? undefined
      : `a backlog of ${backlog} messages reaches the limit of ${this.#limit}`;
  }

  start(): void {
    const refresh = async () => {
      try {
        this.#depth = await this.#queue.depth();
      } catch {
        // Redis is away: refusal() says so, and the depth is asked again.
      }
    };
    void refresh();
    this.#timer = setInterval(refresh, REFRESH_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
