/** The run's clock, which is Redis', as the recorder's thread reads it. */
import { Redis } from 'ioredis';
import { Clock } from '../../pipeline/clock.ts';
import type { Clock as Findings } from '../../reports/run.ts';
import type { Pipeline } from './pipeline.ts';
import { aheadOfThread } from './thread.ts';

export class RunClock {
  /** Connected with {@link start}. */
  readonly redis: Redis;
  readonly #pipeline: Pipeline;
  readonly #clock: Clock;
  readonly #ahead = aheadOfThread();
  #probes = 0;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    this.redis = new Redis(pipeline.redis, {
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      connectTimeout: 5000,
      retryStrategy: () => null,
      disableClientInfo: true,
    });
    this.redis.on('error', () => {});
    this.#clock = new Clock(async () => {
      const [s, us] = await this.redis.time();
      this.#probes++;
      return Number(s) * 1e6 + Number(us);
    });
  }

  /** Rejects in one line where Redis does not tell the time. */
  async start(): Promise<void> {
    try {
      await this.redis.connect();
      await this.#clock.start();
    } catch (error) {
      const { host } = new URL(this.#pipeline.redis);
      throw new Error(
        `redis ${host} can't be used as the run's clock (REDIS_URL): ${(error as Error).message}`,
      );
    }
  }

  /** µs */
  readonly now = (): number => this.#clock.now();

  /** A moment of the process's monotonic clock on this one; both µs. */
  at(moment: number): number {
    return this.#clock.at((moment - this.#ahead) / 1000);
  }

  /** @param processes what those of the pipeline said of theirs */
  findings(processes: Findings['processes']): Findings {
    const { offset_us, bound_us, drift_ppm } = this.#clock.estimate;
    const bounds = [bound_us / 1000, ...processes.map(({ bound_ms }) => bound_ms)].sort((a, b) => b - a);
    return {
      reference: 'redis TIME',
      offset_ms: offset_us / 1000,
      bound_ms: bounds.slice(0, 2).reduce((a, b) => a + b, 0),
      generator_bound_ms: bound_us / 1000,
      one_host:
        this.#pipeline.oneHost &&
        offset_us === 0 &&
        drift_ppm === 0 &&
        processes.every(({ offset_ms }) => offset_ms === 0),
      limit_ms: null,
      drift_ppm,
      probes: this.#probes,
      processes,
    };
  }

  stop(): void {
    this.#clock.stop();
    this.redis.disconnect();
  }
}
