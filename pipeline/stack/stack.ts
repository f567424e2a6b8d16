import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Left } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { IngestConfig, RelayConfig, readConfig, type StackConfig } from '../shared/config.ts';
import { secret } from './access.ts';
import { readAffinity } from './affinity.ts';
import { checkBrokers, startBrokers } from './brokers.ts';
import { secured, TLS_DIR } from './certificates.ts';
import { facts, stackFileOf } from './describe.ts';
import { claimDirectory } from './directory.ts';
import {
  CLIENT_FILES,
  removeStackFile,
  type StackFile,
  writeClientFiles,
  writePrivateFile,
  writeStackFile,
} from './file.ts';
import { nginxVersion, prepareNginx, requireNginx } from './nginx.ts';
import { claimPort } from './ports.ts';
import { named, type Priorities, prioritiesOf } from './priority.ts';
import { probeBridges, probeReady, probeRoundTrip } from './probe.ts';
import { drained, Processes, type ProcessFailure } from './process.ts';
import { checkCluster, startRedis } from './redis.ts';
import { HOST, type Listen } from './services.ts';
import { settingsOf, TOKENS } from './settings.ts';
import { watch } from './telemetry.ts';
import { workersOf } from './workers.ts';

const READY_MS = 30_000;
/** Grace before SIGKILL: clients leave an ingest within 5 s, then it answers open requests within 10 s; a relay has RELAY_GRACE_MS. */
const INGEST_GRACE_MS = 15_000;
/** ms after that to close the connections. */
const GOODBYE_MS = 5000;

/** ms for the broker to name its software; only Mosquitto does. */
const SYS_MS = 2000;
/** Servers that send no telemetry: the stack measures their CPU and memory. */
const SERVERS = ['redis', 'mosquitto', 'nginx'];

interface StackEvents {
  /** A process printed a line. */
  onLine?: (process: string, line: string) => void;
}

/** Differences from the stack of `npm run pipeline`. */
interface StackPlace {
  /** The address that its servers listen on; its own processes speak over the loopback in any case. */
  listen?: Listen;
  /** It is one run's, and ends with it. */
  temporary?: boolean;
  /**
   * Messages that an earlier one accepted and did not deliver will be delivered, or dropped. Absent: this stack keeps its own file
   * apart, and the next one of this kind drops the messages there: those of a run that has ended would disturb the next.
   */
  leftovers?: 'keep' | 'drop';
}

/** A whole pipeline: Redis, Mosquitto, ingest and relays, started in order and stopped in order. */
export class Stack {
  readonly dir: string;
  /** Resolves when a process ended that should not have. The stack is then to be stopped. */
  readonly failed: Promise<ProcessFailure>;
  readonly #config: StackConfig;
  readonly #place: StackPlace;
  readonly #priorities: Priorities;
  readonly #processes: Processes;
  readonly #undo: (() => void | Promise<void>)[] = [];
  /** Gives the directory back; undefined as long as it is not ours. */
  #release: (() => void) | undefined;
  #relayGraceMs = 0;
  #queue: MessageQueue | undefined;
  #file: StackFile | undefined;
  #stopping: Promise<void> | undefined;

  private constructor(config: StackConfig, events: StackEvents, place: StackPlace) {
    this.#config = config;
    this.#place = place;
    this.dir = resolve(config.STACK_DIR);
    this.#priorities = prioritiesOf(config.PRIORITY);
    this.#processes = new Processes({
      affinity: readAffinity(config.CPU_AFFINITY),
      priorities: this.#priorities,
      logs: join(this.dir, 'logs'),
      readyMs: READY_MS,
      onLine: events.onLine,
    });
    this.failed = this.#processes.failed;
  }

  /** Messages that an earlier stack left in the queue and this one delivers; undefined: none. */
  left: Left | undefined;

  /** The contents of `stack.json`. */
  get file(): StackFile {
    return this.#file as StackFile;
  }

  /**
   * Starts everything and resolves once a message has gone through the whole pipeline and `stack.json` is written.
   * Rejects in one line, with nothing left running.
   * @param interrupt ends the start at any moment; it rejects then
   */
  static async start(
    config: StackConfig,
    events: StackEvents = {},
    place: StackPlace = {},
    interrupt: AbortSignal = new AbortController().signal,
  ): Promise<Stack> {
    const stack = new Stack(config, events, place);
    const interrupted = Promise.withResolvers<never>();
    const onAbort = () => interrupted.reject(interrupt.reason);
    try {
      interrupt.throwIfAborted();
      interrupt.addEventListener('abort', onAbort, { once: true });
      await Promise.race([stack.#start(), interrupted.promise]).finally(() =>
        interrupt.removeEventListener('abort', onAbort),
      );
      return stack;
    } catch (error) {
      await stack.#end(0);
      throw error;
    }
  }

  /** Drains for `drainMs` at most and stops: ingest first, then relays once the queue is empty, then the servers. */
  stop(drainMs = this.#config.DRAIN_LIMIT_MS): Promise<void> {
    this.#stopping ??= this.#end(drainMs);
    return this.#stopping;
  }

  /** Ends everything now, whatever is still in the queue. */
  kill(): void {
    this.#processes.kill();
  }

  async #start(): Promise<void> {
    const config = this.#config;
    const cluster = config.TOPOLOGY === 'cluster';
    const ingests = config.INGEST_WORKERS ?? (cluster ? 2 : 1);
    checkBrokers(config);
    checkCluster(config);
    if (cluster) await requireNginx();
    const { listen = HOST, temporary = false, leftovers } = this.#place;
    const data = leftovers === undefined ? 'redis-of-a-run' : 'redis';
    const release = await claimDirectory(this.dir, leftovers === 'keep' ? [] : [data]);
    if (this.#stopping !== undefined) return release();
    this.#release = release;
    const { caFile, ca, certificates } = await secured(config, this.dir);
    const setting = {
      config,
      dir: this.dir,
      listen,
      ca: caFile,
      run: this.#processes.start.bind(this.#processes),
    };
    const [{ redis, left }, { broker, arrives, more }] = await allOf([
      startRedis({ ...setting, certificate: certificates.redis }, join(this.dir, data)),
      startBrokers({ ...setting, certificate: certificates.mosquitto }),
    ]);

    this.left = left;
    const token = config.INGEST_TOKEN ?? secret();
    const port = await claimPort('INGEST_PORT', config.INGEST_PORT);
    // A file, so that the tokens can be changed while the ingest is up.
    const tokens = join(this.dir, TOKENS);
    if (this.#stopping !== undefined) return;
    await writePrivateFile(tokens, `# who may post; one a line, read again when it changes\n${token}\n`);
    const certificate = certificates.ingest;
    const { ingestEnv, relayEnv, launches } = workersOf({
      config,
      ingests,
      redis,
      broker,
      ca: caFile,
      tokens,
      port,
      listen,
      certificate,
    });
    const started = await allOf(
      launches.map((launch) => this.#processes.start(launch, /listening at (\S+?)"|relaying as/)),
    );
    const workers = Object.fromEntries(
      started.flatMap(({ process, ready }) => (ready[1] ? [[process.name, ready[1]]] : [])),
    );
    const health = Object.fromEntries(
      await Promise.all(
        started.map(async ({ process }) => {
          const [, url = ''] = await process.says(/health at (\S+?)"/, READY_MS);
          return [process.name, url] as const;
        }),
      ),
    );
    const settings = {
      ingest: readConfig(IngestConfig, { ...process.env, ...ingestEnv, PROCESS_NAME: 'ingest' }),
      relay: readConfig(RelayConfig, { ...process.env, ...relayEnv, PROCESS_NAME: 'relay' }),
    };
    this.#relayGraceMs = settings.relay.RELAY_GRACE_MS;
    if (cluster) {
      const upstream = { ingests: Object.values(workers), bodyLimit: settings.ingest.BODY_LIMIT };
      const launch = await prepareNginx(this.dir, {
        port,
        listen,
        ...upstream,
        ...(certificate && { tls: certificate }),
      });
      await this.#processes.start(launch, /start worker process/);
    }

    const ingest = { url: `http${certificate === undefined ? '' : 's'}://${HOST}:${port}`, token };
    if (config.RELAY_WORKERS > 0) {
      if (config.BRIDGE) await probeBridges(arrives.stack, READY_MS);
      const patience = left === undefined ? 0 : settings.relay.RELAY_LEASE_MS + left.messages;
      await probeRoundTrip({ ...ingest, idKey: config.ID_KEY }, arrives.stack, READY_MS, patience);
    } else {
      // A message would only stay in the queue.
      await Promise.all(Object.values(health).map((url) => probeReady(url, READY_MS)));
    }
    const servers = this.#processes.pidsOf(SERVERS);
    const watched = { config, redisUrl: redis.stack, mqttUrl: broker.stack, servers, readyMs: READY_MS };
    const { queue, store, broker: sys } = await watch(watched, this.#undo);
    this.#queue = queue;
    const redisInfo = await store.info();
    const mosquittoVersion = await sys.version(SYS_MS);
    // Its files are gone after a stop.
    if (this.#stopping !== undefined) return;
    this.#file = stackFileOf({
      config,
      temporary,
      ingest,
      redis,
      broker,
      arrives,
      more,
      workers,
      health,
      facts: facts({
        config,
        workers: { ingest: ingests, relay: config.RELAY_WORKERS },
        ...settings,
        redisInfo,
        mosquittoVersion,
        nginxVersion: cluster ? await nginxVersion() : undefined,
        priority: named(this.#priorities),
      }),
      settings: settingsOf(settings.ingest, settings.relay, config),
      ca,
      processes: this.#processes.pids,
    });
    await writeClientFiles(this.dir, this.#file, caFile);
    await writeStackFile(this.dir, this.#file);
  }

  async #end(drainMs: number): Promise<void> {
    this.#stopping ??= Promise.resolve();
    // A directory that was refused is another stack's, and so are its files.
    const ours = this.#release !== undefined;
    if (ours) await removeStackFile(this.dir);
    await this.#processes.stop('nginx');
    await this.#processes.stop('ingest', INGEST_GRACE_MS + GOODBYE_MS);
    await this.#drain(drainMs);
    await this.#processes.stop('relay', this.#relayGraceMs + GOODBYE_MS);
    for (const undo of this.#undo.reverse()) await undo();
    await this.#processes.stop('mosquitto');
    await this.#processes.stop('redis');
    if (ours) await this.#removeFiles(); // a process that was just starting may have been about to read them
    this.#release?.();
  }

  async #removeFiles(): Promise<void> {
    for (const file of [...CLIENT_FILES, TOKENS, TLS_DIR]) {
      await rm(join(this.dir, file), { recursive: true, force: true });
    }
  }

  /** Waits until the relays have emptied the queue, as long as they can. */
  async #drain(withinMs: number): Promise<void> {
    if (this.#config.RELAY_WORKERS === 0) return;
    const queue = this.#queue;
    if (queue === undefined) return;
    await drained(
      () => queue.depth(),
      () => this.#processes.whole,
      withinMs,
    );
  }
}

/** allOf is Promise.all, but rejects only when all have settled: what they started can be stopped then. */
async function allOf<T extends readonly unknown[] | []>(work: T) {
  await Promise.allSettled(work);
  return Promise.all(work);
}
