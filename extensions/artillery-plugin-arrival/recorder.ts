/** The thread that subscribes, keeps the ledger and the clock, and writes the report, beside Artillery's that sends. */
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { Redis } from 'ioredis';
import { Clock } from '../../pipeline/clock.ts';
import { type Hops, parseHops } from '../../pipeline/hops.ts';
import { readHost, vmstat } from '../../pipeline/stack/vmstat.ts';
import { trustText } from '../../pipeline/trust.ts';
import { briefOf } from '../../reports/latency.ts';
import { type Gap, type Interval, type Run, STAGES } from '../../reports/run.ts';
import { Canary } from './canary.ts';
import { Files } from './files.ts';
import { Ledger } from './ledger.ts';
import { GENERATOR, numberOf, topicsOf } from './messages.ts';
import { Pacer } from './pacer.ts';
import { findPipeline, isLoopback, type Pipeline } from './pipeline.ts';
import { type Identity, runOf } from './report.ts';
import { gapOf, type Message, Subscriber } from './subscriber.ts';
import { Taken } from './taken.ts';
import { findMissing, readTelemetry, usageOf } from './telemetry.ts';
import { type Assignment, aheadOfThread, channelOf, FAILED, monotonic, READY, type Told } from './thread.ts';

/** ms between two looks at the run */
const LOOK = 50;
/** Looks in a row without a delivery before a run whose messages are all in is over. */
const QUIET_LOOKS = 5;
/** µs after its due time from which a request that is not sent never will be, unless requests still leave. */
const LATE_LIMIT = 10e6;
/** ms between two looks whether everything has arrived that a phase of the closed model waits for */
const STEP = 5;
/** s; how long the last requests of the closed model are waited for */
const LONGEST_REQUEST = 120;
/** s between two reports of a run that goes on */
const CHECKPOINT = 5;
const RUNS = resolve(import.meta.dirname, '../../reports/runs');

class Recorder {
  readonly #assignment: Assignment;
  readonly #pipeline: Pipeline;
  readonly #identity: Identity;
  readonly #dir: string;
  readonly #schedule: Pacer | Taken;
  readonly #prefix: string;
  readonly #channel;
  readonly #redis: Redis;
  readonly #clock: Clock;
  #ledger: Ledger;
  /** µs on the run's clock; 0 until the first request is about to leave */
  #epoch = 0;
  #files: Files | undefined;
  #subscribers: Subscriber[] = [];
  #canary: Canary | undefined;
  #probes = 0;
  #lastSent = 0;
  #stopped = false;
  #onIdle = (): void => {};
  #beyond = 0;
  readonly #gaps: Gap[] = [];
  readonly #timeline: Interval[] = [];
  readonly #errors = new Map<string, Run['errors'][number]>();
  readonly #doubts: string[] = [];
  readonly #ends: { backlog: number; drained: number | null }[] = [];
  #resources: Run['resources'] = [];
  #clocks: { process: string; offset_ms: number; bound_ms: number }[] = [];
  #usage = process.cpuUsage();
  #usageAt = monotonic();
  readonly #ahead = aheadOfThread();
  #host = readHost();

  constructor(assignment: Assignment, pipeline: Pipeline) {
    const { options, id, method, version, command } = assignment;
    this.#assignment = assignment;
    this.#pipeline = pipeline;
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const name = `${method}-${pipeline.topology}-${pipeline.network}-${time}`;
    this.#dir = process.env.RUN_DIR || join(RUNS, name);
    this.#identity = { id, name: basename(this.#dir), method, version, command };
    this.#schedule = new (options.closed ? Taken : Pacer)(options.phases, options.flows);
    this.#prefix = `${id}.${GENERATOR}`;
    this.#ledger = new Ledger(this.#schedule, 0);
    this.#redis = new Redis(pipeline.redis, {
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      connectTimeout: 5000,
      retryStrategy: () => null,
      disableClientInfo: true,
    });
    this.#redis.on('error', () => {});
    this.#clock = new Clock(async () => {
      const [s, us] = await this.#redis.time();
      this.#probes++;
      return Number(s) * 1e6 + Number(us);
    });
    this.#channel = channelOf(id);
    this.#channel.onmessage = (event) => this.#hear((event as { data: Told }).data);
  }

  /** Connects everything and sends one message all the way round. */
  async prepare(): Promise<void> {
    const pipeline = this.#pipeline;
    const { options, id } = this.#assignment;
    if (pipeline.ca !== '') trustText(pipeline.ca);
    try {
      await this.#redis.connect();
      await this.#clock.start();
    } catch (error) {
      const { host } = new URL(pipeline.redis);
      throw new Error(
        `redis ${host} can't be used as the run's clock (REDIS_URL): ${(error as Error).message}`,
      );
    }
    const topics = topicsOf(this.#schedule, options.prefix);
    this.#subscribers = await Promise.all(
      topics.map((held, i) =>
        Subscriber.connect(pipeline, held, options.qos, this.#now, this.#receive(i), (reason) =>
          this.#gap(i, reason),
        ),
      ),
    );
    const canary = new Canary(id, options, pipeline, this.#now, (what, message) =>
      this.#error('canary', what, message),
    );
    await canary.prepare();
    if (options.canary) this.#canary = canary;
    else await canary.end();
  }

  /** Follows the run to its end. */
  async follow(): Promise<void> {
    while (this.#epoch === 0 && !this.#stopped) await sleep(LOOK);
    if (this.#epoch !== 0) await this.#watch();
    await this.#canary?.settle();
    if (!this.#stopped && this.#ledger.account(false).pending > 0) await this.#find();
    await Promise.all(this.#subscribers.map((subscriber) => subscriber.end()));
    await this.#canary?.end();
    if (this.#epoch !== 0) await this.#finish();
    this.#clock.stop();
    this.#redis.disconnect();
    this.#channel.close();
  }

  readonly #now = (): number => this.#clock.now();

  /** A moment of the process's monotonic clock on the run's. */
  #at(moment: number): number {
    return this.#clock.at((moment - this.#ahead) / 1000);
  }

  #hear(told: Told): void {
    switch (told.tell) {
      case 'start':
        this.#start(this.#at(told.epoch));
        break;
      case 'take':
        (this.#schedule as Taken).take(told.phase, told.due, told.flow);
        this.#ledger.grow();
        break;
      case 'idle':
        this.#onIdle();
        break;
      case 'sent':
        this.#lastSent = this.#now();
        this.#ledger.send(told.n, this.#at(told.at));
        break;
      case 'answer':
        this.#ledger.settle(told.n, told.status < 300 ? 'accepted' : 'rejected', this.#at(told.at));
        if (told.status >= 300) this.#error('request', `status ${told.status}`, null);
        break;
      case 'failed': {
        // A connection that was refused has carried nothing; of any other nobody knows.
        const refused = told.class === 'ECONNREFUSED';
        this.#ledger.settle(told.n, refused ? 'rejected' : 'failed', this.#at(told.at));
        this.#error('request', told.class, told.message);
        break;
      }
      case 'beyond':
        this.#beyond++;
        break;
      case 'stop':
        this.#stopped = true;
        break;
    }
  }

  #start(epoch: number): void {
    this.#epoch = Math.round(epoch);
    this.#lastSent = this.#epoch;
    this.#ledger = new Ledger(this.#schedule, this.#epoch);
    this.#files = new Files(this.#dir, this.#identity.id, this.#started);
    this.#cpu();
    if (this.#schedule instanceof Taken) {
      this.#canary?.fly(this.#epoch, Number.POSITIVE_INFINITY);
      void this.#lead(this.#schedule);
    } else {
      this.#canary?.fly(this.#epoch, Math.floor(this.#schedule.duration));
    }
  }

  /** ms since 1970 */
  get #started(): number {
    return Math.round(this.#epoch / 1000);
  }

  #receive(subscriber: number) {
    return (at: number, { payload, hops }: Message): void => {
      const seq = numberOf(payload, this.#prefix);
      if (seq === undefined) {
        this.#ledger.foreign();
        return;
      }
      let stamps: Hops | undefined;
      try {
        stamps = hops === undefined ? undefined : parseHops(hops);
      } catch (error) {
        this.#error('delivery', 'hops', (error as Error).message);
      }
      this.#ledger.arrive(subscriber, at, seq, stamps);
    };
  }

  #gap(subscriber: number, reason: string): () => void {
    const seconds = () => Math.max(0, (this.#now() - this.#epoch) / 1e6);
    const gap = gapOf(subscriber, this.#epoch === 0 ? 0 : seconds(), reason);
    this.#gaps.push(gap);
    return () => {
      gap.to_s = seconds();
    };
  }

  #error(stage: string, what: string, example: string | null): void {
    const known = this.#errors.get(`${stage} ${what}`);
    if (known !== undefined) known.count++;
    else this.#errors.set(`${stage} ${what}`, { stage, class: what, count: 1, example });
  }

  /** Until everything is in, nothing more comes, or the drain limit is reached. */
  async #watch(): Promise<void> {
    const { drain, idle } = this.#assignment.options;
    let written = this.#epoch;
    let settledAt = 0;
    let [moved, seen, quiet] = [this.#now(), -1, 0];
    while (!this.#stopped) {
      await sleep(LOOK);
      const now = this.#now();
      while (now >= this.#epoch + (this.#timeline.length + 1) * 1e6) this.#cut();
      this.#noteEnds(now);
      if (now - written > CHECKPOINT * 1e6) {
        written = now;
        await this.#write(false);
      }
      if (!this.#sendingIsOver(now)) continue;
      if (settledAt === 0) [settledAt, moved] = [now, now];
      quiet++;
      if (this.#ledger.deliveries !== seen) [seen, moved, quiet] = [this.#ledger.deliveries, now, 0];
      if (quiet < QUIET_LOOKS) continue;
      const complete = this.#ledger.owed === 0 && this.#ledger.account(false).pending === 0;
      if (complete || now - moved > idle * 1e6 || now - settledAt > drain * 1e6) return;
    }
  }

  #sendingIsOver(now: number): boolean {
    const over = this.#schedule.over((now - this.#epoch) / 1e6);
    if (this.#ledger.settled) return over || !this.#schedule.closed;
    return this.#ledger.inFlight === 0 && over && now - this.#lastSent > LATE_LIMIT;
  }

  /** Leads the phases of the closed model, one after the other. */
  async #lead(taken: Taken): Promise<void> {
    const seconds = () => (this.#now() - this.#epoch) / 1e6;
    const rest = async (limit: number) => {
      const idle = new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
      return Promise.race([idle, sleep(limit * 1000, undefined, { ref: false })]);
    };
    let start = 0;
    for (const [phase, { duration, vus = 0, drain }] of this.#schedule.phases.entries()) {
      const end = start + duration;
      taken.begin(start);
      this.#tell({ tell: 'turn', turn: { phase, vus, until: monotonic() + (end - seconds()) * 1e6 } });
      while (seconds() < end && !this.#stopped)
        await sleep(Math.min(LOOK, Math.max(1, (end - seconds()) * 1000)));
      taken.end(end);
      const at: { backlog: number; drained: number | null } = { backlog: this.#ledger.owed, drained: null };
      this.#ends.push(at);
      start = end;
      if (drain === undefined) continue;
      const idle = rest(drain);
      this.#tell({ tell: 'turn', turn: { phase, vus: 0, until: 0 } });
      await idle;
      while (this.#ledger.owed > 0 && seconds() < end + drain && !this.#stopped) await sleep(STEP);
      if (this.#ledger.owed === 0) at.drained = seconds() - end;
      start = seconds();
    }
    const idle = rest(LONGEST_REQUEST);
    this.#tell({ tell: 'over' });
    await idle;
    taken.complete = true;
  }

  /** What was owed when a phase ended, and when it was no more. */
  #noteEnds(now: number): void {
    if (this.#schedule instanceof Taken) return;
    const ran = (now - this.#epoch) / 1e6;
    const { duration, phases } = this.#schedule;
    phases.forEach((phase, i) => {
      const { start = ran } = this.#schedule.span(i, ran) ?? {};
      if (ran < start + phase.duration || this.#ends[i] !== undefined) return;
      this.#ends[i] = { backlog: Math.max(0, this.#ledger.owed), drained: null };
    });
    const last = this.#ends[phases.length - 1];
    if (
      last !== undefined &&
      last.drained === null &&
      this.#ledger.owed === 0 &&
      this.#ledger.inFlight === 0
    ) {
      last.drained = Math.max(0, ran - duration);
    }
  }

  /** Ends one second of the run. */
  #cut(): void {
    const t = this.#timeline.length;
    const now = (this.#now() - this.#epoch) / 1e6;
    const { interval, second } = this.#ledger;
    const [first, last] = [this.#schedule.dueBefore(t), this.#schedule.dueBefore(t + 1)];
    const phase = this.#schedule.phases.find((_, i) => {
      const { start, length } = this.#schedule.span(i, now) ?? { start: now, length: 0 };
      return start <= t && t < start + length;
    });
    const row: Interval = {
      t,
      phase: phase?.name ?? null,
      requests: last - first,
      scheduled: this.#schedule.messages(last) - this.#schedule.messages(first),
      sent: second.sent,
      accepted: second.accepted,
      rejected: second.rejected,
      failed: second.failed,
      arrived: interval.arrival.count,
      backlog: this.#ledger.owed,
      arrival: briefOf(interval.arrival),
      from_send: briefOf(interval.from_send),
      http: briefOf(interval.http),
      arrival_bins: interval.arrival.bins(),
      stages:
        second.stamped === 0
          ? null
          : (Object.fromEntries(
              STAGES.map((stage, i) => [stage, (second.stageSums[i] as number) / second.stamped / 1000]),
            ) as Interval['stages']),
      canary_ms: this.#canary?.at(t) ?? null,
      generator: this.#cpu(),
    };
    this.#timeline.push(row);
    this.#files?.second(row, interval, this.#started);
    this.#tell({ tell: 'latencies', ms: second.latencies.map((us) => us / 1000) });
    this.#ledger.cut();
  }

  /** Of the whole process: Artillery's threads and this one. */
  #cpu(): NonNullable<Interval['generator']> {
    const now = monotonic();
    const [before, host] = [this.#host, readHost()];
    this.#host = host;
    const steal = before && host && host.cpu.steal > 0 ? vmstat(before, host).st : undefined;
    const used = process.cpuUsage(this.#usage);
    const span = now - this.#usageAt;
    this.#usage = process.cpuUsage();
    this.#usageAt = now;
    return {
      // The system counts in ticks: over a short span one of them would look like a busy core.
      cpu_percent: span > 5e5 ? ((used.user + used.system) / span) * 100 : null,
      rss_mb: process.memoryUsage.rss() / 2 ** 20,
      ...(steal !== undefined && { steal_percent: steal }),
    };
  }

  async #find(): Promise<void> {
    try {
      await findMissing(this.#redis, (body, fate) => {
        const seq = numberOf(Buffer.from(body), this.#prefix);
        if (seq !== undefined) this.#ledger.find(seq, fate);
      });
    } catch (error) {
      this.#doubts.push(`what is missing could not be looked for in Redis: ${(error as Error).message}`);
    }
  }

  async #finish(): Promise<void> {
    this.#cut();
    try {
      const told = await readTelemetry(this.#redis, this.#epoch);
      this.#resources = told.resources;
      this.#clocks = told.clocks;
    } catch (error) {
      this.#doubts.push(
        `what the pipeline's processes said of themselves could not be read: ${(error as Error).message}`,
      );
    }
    const series = this.#timeline.map(({ t, generator }): Run['resources'][number]['series'][number] => [
      t,
      generator?.cpu_percent ?? null,
      generator?.rss_mb ?? null,
    ]);
    this.#resources.push({ ...usageOf('artillery', series), figures: null });
    if (this.#beyond > 0) {
      this.#error(
        'schedule',
        'beyond',
        `${this.#beyond} virtual users more than the schedule has requests sent nothing`,
      );
    }
    await this.#files?.close();
    if (this.#files?.failure)
      this.#doubts.push(`the record of the run has gaps: ${this.#files.failure.message}`);
    const run = await this.#write(!this.#stopped);
    this.#tell({ tell: 'end', account: run.account, result: run.verdict.result });
    this.#assignment.port.postMessage({ run, dir: this.#dir });
  }

  async #write(ended: boolean): Promise<Run> {
    const run = runOf({
      identity: this.#identity,
      options: this.#assignment.options,
      pipeline: this.#pipeline,
      schedule: this.#schedule,
      ledger: this.#ledger,
      epoch: this.#epoch,
      now: this.#now(),
      ended,
      clock: this.#clockFindings(),
      gaps: this.#gaps,
      timeline: this.#timeline,
      resources: this.#resources,
      errors: [...this.#errors.values()],
      canary: this.#canary && { sent: this.#canary.sent, series: this.#canary.series },
      ends: this.#ends,
      doubts: this.#doubts,
    });
    await this.#files?.write(run);
    return run;
  }

  #clockFindings(): NonNullable<Run['clock']> {
    const pipeline = this.#pipeline;
    const { offset_us, bound_us, drift_ppm } = this.#clock.estimate;
    const bounds = [bound_us / 1000, ...this.#clocks.map(({ bound_ms }) => bound_ms)].sort((a, b) => b - a);
    const loopback = [pipeline.ingest.url, pipeline.mqtt.url, pipeline.redis].every(isLoopback);
    return {
      reference: 'redis TIME',
      offset_ms: offset_us / 1000,
      bound_ms: bounds.slice(0, 2).reduce((a, b) => a + b, 0),
      generator_bound_ms: bound_us / 1000,
      one_host:
        loopback &&
        offset_us === 0 &&
        drift_ppm === 0 &&
        this.#clocks.every(({ offset_ms }) => offset_ms === 0),
      limit_ms: null,
      drift_ppm,
      probes: this.#probes,
      processes: this.#clocks,
    };
  }

  #tell(told: Told): void {
    this.#channel.postMessage(told);
  }
}

const assignment = workerData as Assignment;

function reach(state: number): void {
  Atomics.store(assignment.ready, 0, state);
  Atomics.notify(assignment.ready, 0);
}

try {
  const recorder = new Recorder(assignment, await findPipeline(process.env));
  await recorder.prepare();
  reach(READY);
  await recorder.follow();
  process.exit(0);
} catch (error) {
  assignment.port.postMessage((error as Error).message.split('\n')[0]);
  reach(FAILED);
}
