import { Cluster, type Redis } from 'ioredis';
import type { Problem } from '../common/readiness.ts';
import { parseAddress } from '../shared/address.ts';
import type { Connection } from './commands.ts';
import { becomeReady, connect, openNode, Reader, type RedisOptions, renew } from './connection.ts';
import { largeIn } from './entry-size.ts';
import { keysOf, type QueueKeys } from './keys.ts';
import { isDisconnection, problemOf, reasonOf } from './problems.ts';
import { UnusableQueue } from './queue.ts';

const TELEMETRY_LENGTH = 20_000;
const TRACE_LENGTH = 100_000;
const OLDEST_REDIS = 7;
/** ms that a record of the broker stays. */
const RECORD_MS = 10_000;

/** Why a Redis must not get messages. */
export interface Unfit {
  why: string;
  /** It lasts until somebody changes Redis' settings; false: another server at this address may be fit. */
  lasts: boolean;
}

/** The Redis of a pipeline, with all that is not a queue: clock, telemetry, trace lists, INFO, the record of the broker. */
export class Store {
  /** The keys of the pipeline. */
  readonly keys: QueueKeys;
  /** The connection for all but blocking reads. It writes a command at once or rejects it. */
  readonly redis: Connection;
  readonly #options: RedisOptions;
  /** The node whose TIME is the reference clock: the clocks of a cluster's nodes differ. */
  readonly #timekeeper: Connection;
  readonly #readers = new Set<Reader>();
  #large: Connection | undefined;
  #reached = false;
  /** Why Redis has refused us since the last connection; undefined: it has not. */
  #refusal: Problem | undefined;
  /** Why the last connection ended, or was not made; undefined: not known. */
  #reason: string | undefined;

  constructor(options: RedisOptions) {
    this.#options = options;
    this.keys = keysOf(options.prefix);
    this.redis = connect(options, options.timeoutMs, (up, reason) => {
      const problem = reason === undefined ? undefined : problemOf(new Error(reason));
      if (reason !== undefined) this.#reason = reasonOf(reason, this.#reached);
      if (up) {
        this.#refusal = undefined;
        this.#reason = undefined;
      }
      if (problem?.kind === 'misconfigured') this.#refusal = problem;
      options.onState?.(up, reason);
    });
    this.#timekeeper =
      this.redis instanceof Cluster
        ? openNode(options.url, options.timeoutMs).on('error', () => {})
        : this.redis;
    this.redis.once('ready', () => {
      this.#reached = true;
    });
  }

  /** Whether commands can be written now. */
  get ready(): boolean {
    if (this.redis.status !== 'ready') return false;
    // A connection that Redis has ended takes nothing more, and ioredis calls it ready until it is closed. A cluster has none itself.
    return this.redis instanceof Cluster || (this.redis.stream.readable && this.redis.stream.writable);
  }

  /** Why commands cannot be written now; undefined: they can. */
  get away(): Problem | undefined {
    if (this.ready) return undefined;
    const why = this.#reason === undefined ? '' : `: ${this.#reason}`;
    return this.#refusal ?? { problem: `Redis is away${why}`, kind: this.#reached ? 'shared' : 'starting' };
  }

  /**
   * Resolves once Redis answers and has loaded its data; rejects after `withinMs`. Rejects with
   * {@link UnusableQueue} when it is too old.
   */
  async whenReady(withinMs: number): Promise<void> {
    await becomeReady(this.redis, withinMs);
    await this.#select();
    const version = /^redis_version:(\S+)/m.exec(await this.redis.info('server'))?.[1] ?? 'unknown';
    if (Number.parseInt(version, 10) >= OLDEST_REDIS) return;
    throw new UnusableQueue(`Redis is version ${version}, allowed is ${OLDEST_REDIS}.0 or newer`);
  }

  /** ioredis goes on with database 0 where the one of the address does not exist. */
  async #select(): Promise<void> {
    const { database } = parseAddress('redis', this.#options.url);
    if (database === 0) return;
    await this.redis.select(database).catch((error: Error) => {
      if (!/^(ERR|NOPERM) /.test(error.message)) throw error;
      throw new UnusableQueue(`database ${database} cannot be used: ${error.message}`);
    });
  }

  /** Reads the reference clock: Redis `TIME`, in microseconds. */
  async time(): Promise<number> {
    const [seconds, micros] = await this.#timekeeper.time();
    return Number(seconds) * 1e6 + Number(micros);
  }

  /** Appends one telemetry entry; `at` in Redis-clock microseconds. The newest 20,000 are kept. */
  async record(process: string, at: number, data: object): Promise<void> {
    const fields = ['process', process, 'at', at, 'data', JSON.stringify(data)];
    await this.redis.xadd(this.keys.telemetry, 'MAXLEN', '~', TELEMETRY_LENGTH, '*', ...fields);
  }

  /** Adds entries of {@link TraceList} to the list of a component, the newest first. The newest 100,000 are kept. */
  async trace(component: string, entries: readonly string[]): Promise<void> {
    const key = this.keys.trace(component);
    const replies = await this.redis
      .pipeline()
      .lpush(key, ...entries)
      .ltrim(key, 0, TRACE_LENGTH - 1)
      .exec();
    for (const [error] of replies ?? []) if (error) throw error;
  }

  /** Resolves with the last record of the relays' broker (broker-record.ts); undefined: they wrote none in the last 10 s. */
  async brokerRecord(): Promise<string | undefined> {
    return (await this.redis.get(this.keys.broker)) ?? undefined;
  }

  async recordBroker(record: string): Promise<void> {
    await this.redis.recordBroker(this.keys.broker, record, RECORD_MS);
  }

  /** Resolves with Redis' INFO, or some sections of it. In a cluster the first node of the address answers. */
  info(...sections: string[]): Promise<string> {
    return this.#timekeeper.info(...sections);
  }

  /** Why this Redis must not get messages now; undefined: it may. Each node of a cluster is asked. */
  async unfit(): Promise<Unfit | undefined> {
    const redis: unknown = this.redis;
    const nodes: Redis[] = redis instanceof Cluster ? redis.nodes('master') : [this.redis];
    for (const node of nodes) {
      const info = await node.info('replication', 'memory').catch((error: Error) => {
        if (error.message.startsWith('NOPERM')) return undefined;
        throw error;
      });
      if (info === undefined)
        return { why: 'its role and policy cannot be checked: this user needs the right +info', lasts: true };
      if (/^role:slave\r?$/m.test(info))
        return { why: 'it is a replica, so it takes no writes', lasts: false };
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
      const limited = !/^maxmemory:0\r?$/m.test(info);
      if (!limited || policy === undefined || policy === 'noeviction') continue;
      const why = `maxmemory-policy is ${policy}, allowed is noeviction: any other one throws messages away`;
      return { why, lasts: true };
    }
    return undefined;
  }

  /** Writes these values. Those that Redis may refuse for their size go by a connection of their own. */
  write<T>(values: readonly string[], work: (redis: Connection) => Promise<T>): Promise<T> {
    const bytes = largeIn(values);
    return bytes === 0 ? work(this.redis) : this.#writeLarge(bytes, work);
  }

  /** Redis closes the connection of a value above its proto-max-bulk-len, and with it ends all other writes there. */
  async #writeLarge<T>(bytes: number, write: (redis: Connection) => Promise<T>): Promise<T> {
    this.#large ??= connect(this.#options, this.#options.timeoutMs);
    await becomeReady(this.#large, this.#options.timeoutMs);
    return write(this.#large).catch((error: Error) => {
      // Redis' answer does not always get through.
      const isClosed = isDisconnection(error) && this.ready;
      if (!isClosed && !/invalid bulk length/.test(error.message)) throw error;
      throw new Error(
        `Redis closed the connection of a write with a value of ${bytes} bytes: its proto-max-bulk-len may be less`,
      );
    });
  }

  /** Makes a connection for blocking reads. */
  reader(): Reader {
    const reader = new Reader(this.#options);
    this.#readers.add(reader);
    return reader;
  }

  /** Renews all connections. */
  renew(): void {
    renew(this.redis);
    for (const reader of this.#readers) reader.renew();
    if (this.#large !== undefined) renew(this.#large);
    if (this.#timekeeper !== this.redis) renew(this.#timekeeper);
  }

  close(): void {
    for (const reader of this.#readers) reader.close();
    this.#large?.disconnect();
    this.#timekeeper.disconnect();
    this.redis.disconnect();
  }
}
