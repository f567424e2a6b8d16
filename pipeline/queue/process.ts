import type { Logger } from '../common/log.ts';
import { type Durations, type Figures, openMetrics } from '../common/metrics.ts';
import { Outage } from '../common/outage.ts';
import type { Problem } from '../common/readiness.ts';
import { startTelemetry } from '../common/telemetry.ts';
import { Clock } from '../shared/clock.ts';
import { ConfigError, type IngestConfig, queueOptions, type RelayConfig } from '../shared/config.ts';
import { BrokerRecord, type BrokerRecordOptions } from './broker-record.ts';
import type { QueueOptions } from './connection.ts';
import { openQueue, straysOf } from './open.ts';
import { explainRedis, problemOf, reasonOf } from './problems.ts';
import { UnusableQueue } from './queue.ts';
import { Store, type Unfit } from './store.ts';
import { TraceList } from './trace-list.ts';

/** ms between checks of a connected Redis: its policy and role may change while the connection lasts. */
const CHECK_MS = 1000;

interface ProcessEvents extends Pick<QueueOptions, 'onLost'> {
  /** Called when the process cannot work until somebody changes its settings. */
  onFailure: (error: Error) => void;
}

/** Opens what ingest and relay use in Redis: queue, clock, trace, telemetry and the record of the broker. */
export function openProcess(
  role: 'ingest' | 'relay',
  config: IngestConfig | RelayConfig,
  log: Logger,
  { onLost, onFailure }: ProcessEvents,
) {
  const outage = new Outage(log, 'Redis');
  let reached = false;
  const options = {
    url: config.REDIS_URL,
    ...queueOptions(config),
    timeoutMs: config.REDIS_TIMEOUT_MS,
    onState: (up: boolean, reason: string | undefined) => {
      if (!up) {
        if (reason === undefined) return;
        const { kind } = problemOf(new Error(reason));
        return outage.away(reasonOf(reason, reached), kind === 'misconfigured');
      }
      outage.over();
      reached = true;
      check().catch(onFailure);
      void inspect();
    },
    ...(onLost && { onLost }),
  };
  const store = new Store(options);
  const queue = openQueue(config.QUEUE, options, store);
  /** The last problem that was logged about the key that has the number of shards. */
  let logged: string | undefined;
  /** Checks that the queue fits. Redis may come up later than the process, and differ after each outage. */
  async function check(): Promise<void> {
    if (role === 'relay') await checkStrays();
    await queue.whenReady(config.REDIS_TIMEOUT_MS).catch((error: Error) => {
      if (error instanceof UnusableQueue) throw new ConfigError(`REDIS_URL: ${error.message}`);
      // A Redis that is away says so itself.
      const { problem, kind } = problemOf(error);
      if (kind !== 'misconfigured' || problem === logged) return;
      logged = problem;
      log.error(`Redis: ${store.keys.shards}, the number of shards, can not be read: ${problem}`);
    });
  }
  /**
   * Rejects while messages wait for relays with other settings. It comes before the queue writes its number of shards, which would
   * keep those relays out.
   */
  async function checkStrays(): Promise<void> {
    const look = async () => {
      await store.whenReady(config.REDIS_TIMEOUT_MS);
      return straysOf(store, config.QUEUE, options);
    };
    // A Redis that is away, or a right that is missing, shows elsewhere.
    const strays = await look().catch(() => undefined);
    if (strays === undefined) return;
    throw new ConfigError(
      `QUEUE is ${config.QUEUE} and STREAM_SHARDS is ${config.STREAM_SHARDS}, and ${strays.count} entries wait in Redis for a relay with ${strays.settings}; ` +
        'allowed: that until none is left, or another QUEUE_PREFIX for another pipeline',
    );
  }
  let unfit: Unfit | undefined;
  /** Redis has been fit since the start. */
  let proven = false;
  /** Looks whether Redis may get messages, and says when that changes. A silent Redis changes nothing. */
  async function inspect(): Promise<void> {
    if (!store.ready) return;
    const before = unfit?.why;
    const found = await store.unfit().catch(() => 'silent' as const);
    if (found !== 'silent') {
      unfit = found;
      proven ||= found === undefined;
    }
    if (unfit?.why !== before) {
      if (unfit === undefined) log.info('Redis may get messages again');
      else log.error(`Redis: ${unfit.why}`);
    }
    // The address may lead to the primary by now.
    if (unfit?.lasts === false) store.renew();
  }
  const inspection = setInterval(inspect, CHECK_MS).unref();
  const clock = new Clock(() => store.time());
  const trace = new TraceList({
    store,
    component: role,
    every: config.TRACE_LOG_EVERY,
    now: clock.now,
    idKey: config.ID_KEY,
    onTrouble: (what) => log.warn(what),
  });
  return {
    queue,
    check,
    /** Rejects with a {@link ConfigError} while Redis must not get messages, until somebody changes its settings. */
    async checkFitness(): Promise<void> {
      await inspect();
      if (unfit?.lasts) throw new ConfigError(`REDIS_URL: ${unfit.why}`);
    },
    /** Why the queue must not get messages now; undefined: it may. */
    objection: (): Problem | undefined => {
      if (unfit !== undefined) {
        const { why, lasts } = unfit;
        const passing = proven ? 'shared' : 'starting';
        return { problem: `Redis: ${why}`, kind: lasts ? 'misconfigured' : passing };
      }
      const needsClock = role === 'relay' || (config as IngestConfig).STAMPS;
      if (clock.probed || !needsClock) return undefined;
      return { problem: 'Redis: its clock is not known yet', kind: 'starting' };
    },
    clock,
    /** Starts the clock; it goes on by itself if Redis does not answer yet. */
    async startClock(): Promise<void> {
      await clock.start().catch((error) => {
        if (store.ready) log.warn(`Redis: its clock is not known yet: ${explainRedis(error)}`);
      });
    },
    trace: config.TRACE_LOG_EVERY > 0 ? trace : undefined,
    brokerRecord: (broker: Pick<BrokerRecordOptions, 'url' | 'name' | 'relay'>) =>
      new BrokerRecord({ store, prefix: config.QUEUE_PREFIX, ...broker }),
    /** The facts that `/readyz` states beside the problems. */
    facts: (answers = store.ready) => ({ redis: answers }),
    /** Sends the process's figures once a second. Returns its metrics, and a function that stops this. */
    observe<T extends object>(
      figures: Figures<T>,
      read: () => T,
      durations: readonly Durations[],
      up: Record<string, () => boolean>,
      problems: () => Promise<readonly Problem[]>,
    ) {
      const backlog = () => queue.depth();
      const metrics = openMetrics({
        role,
        figures,
        read,
        durations,
        clock,
        backlog,
        up: { redis: () => store.ready, ...up },
        problems,
      });
      const stop = startTelemetry({ store, clock, process: config.PROCESS_NAME, figures, read });
      return {
        metrics,
        stop: () => {
          clearInterval(inspection);
          stop();
        },
      };
    },
    /** Closes the connections: open commands reject. */
    close(): void {
      queue.close();
      store.close();
    },
  };
}

/** Ends a process that cannot do its work. */
export function fail(error: Error): never {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
}
