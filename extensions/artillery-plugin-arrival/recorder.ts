import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Hops, parseHops } from '../../pipeline/hops.ts';
import { trustText } from '../../pipeline/trust.ts';
import { moment, newDirectory, RUNS } from '../../reports/directory.ts';
import type { Gap, Interval, Run } from '../../reports/run.ts';
import { Canary } from './canary.ts';
import { Errors } from './errors.ts';
import { Files } from './files.ts';
import { Ledger } from './ledger.ts';
import { GENERATOR, numberOf, topicsOf } from './messages.ts';
import { Pacer } from './pacer.ts';
import { Leader, noteEnds, type PhaseEnd } from './phases.ts';
import type { Pipeline } from './pipeline.ts';
import { type Identity, runOf } from './report.ts';
import { RunClock } from './run-clock.ts';
import { secondOf } from './second.ts';
import { gapOf, type Message, Subscriber } from './subscriber.ts';
import { Taken } from './taken.ts';
import { findMissing, readTelemetry } from './telemetry.ts';
import { type Assignment, channelOf, type Told } from './thread.ts';
import { ownUsage, Usage } from './usage.ts';

/** ms between two looks at the run */
const LOOK = 50;
/** Looks in a row without a delivery before a run whose messages are all in is over. */
const QUIET_LOOKS = 5;
/** µs after its due time from which a request that is not sent never will be, unless requests still leave. */
const LATE_LIMIT = 10e6;
/** s between two reports of a run that goes on, at least; and how many times as long as the last one took, as what arrives meanwhile is read late */
const CHECKPOINT = 5;
const CHECKPOINT_REST = 500;

/** Subscribes, keeps the ledger and the clock, and writes the report, in a thread beside Artillery's that sends. */
export class Recorder {
  readonly #assignment: Assignment;
  readonly #pipeline: Pipeline;
  readonly #identity: Identity;
  #dir: string;
  readonly #schedule: Pacer | Taken;
  readonly #prefix: string;
  readonly #channel;
  readonly #clock: RunClock;
  #ledger: Ledger;
  /** µs on the run's clock; 0 until the first request is about to leave */
  #epoch = 0;
  #files: Files | undefined;
  #subscribers: Subscriber[] = [];
  #canary: Canary | undefined;
  /** In the closed model, when it has begun. */
  #leader: Leader | undefined;
  #lastSent = 0;
  #stopped = false;
  #beyond = 0;
  readonly #gaps: Gap[] = [];
  readonly #timeline: Interval[] = [];
  readonly #errors = new Errors();
  readonly #doubts: string[] = [];
  readonly #ends: PhaseEnd[] = [];
  readonly #usage = new Usage();
  #resources: Run['resources'] = [];
  #clocks: NonNullable<Run['clock']>['processes'] = [];

  constructor(assignment: Assignment, pipeline: Pipeline) {
    const { options, id, method, version, command } = assignment;
    this.#assignment = assignment;
    this.#pipeline = pipeline;
    const name = `${method}-${pipeline.topology}-${pipeline.network}-${moment()}`;
    this.#dir = process.env.RUN_DIR || join(RUNS, name);
    this.#identity = { id, name: basename(this.#dir), method, version, command };
    this.#schedule = new (options.closed ? Taken : Pacer)(options.phases, options.flows);
    this.#prefix = `${id}.${GENERATOR}`;
    this.#ledger = new Ledger(this.#schedule, 0);
    this.#clock = new RunClock(pipeline);
    this.#channel = channelOf(id);
    this.#channel.onmessage = (event) => this.#hear((event as { data: Told }).data);
  }

  /** Connects everything and sends one message all the way round. */
  async prepare(): Promise<void> {
    const pipeline = this.#pipeline;
    const { options, id } = this.#assignment;
    if (pipeline.ca !== '') trustText(pipeline.ca);
    await this.#clock.start();
    const topics = topicsOf(this.#schedule, options.prefix);
    this.#subscribers = await Promise.all(
      topics.map((held, i) =>
        Subscriber.connect(pipeline, held, options.qos, this.#clock.now, this.#receive(i), (reason) =>
          this.#gap(i, reason),
        ),
      ),
    );
    const canary = new Canary(id, options, pipeline, this.#clock.now, (what, message) =>
      this.#errors.add('canary', what, message),
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
    this.#channel.close();
  }

  #hear(told: Told): void {
    switch (told.tell) {
      case 'start':
        this.#start(this.#clock.at(told.epoch));
        break;
      case 'take':
        (this.#schedule as Taken).take(told.phase, told.due, told.flow);
        this.#ledger.grow();
        break;
      case 'idle':
        this.#leader?.idle();
        break;
      case 'sent':
        this.#lastSent = this.#clock.now();
        this.#ledger.send(told.n, this.#clock.at(told.at));
        break;
      case 'answer':
        this.#ledger.settle(told.n, told.status < 300 ? 'accepted' : 'rejected', this.#clock.at(told.at));
        if (told.status >= 300) this.#errors.add('request', `status ${told.status}`, null);
        break;
      case 'failed': {
        // A connection that was refused has carried nothing; of any other nobody knows.
        const refused = told.class === 'ECONNREFUSED';
        this.#ledger.settle(told.n, refused ? 'rejected' : 'failed', this.#clock.at(told.at));
        this.#errors.add('request', told.class, told.message);
        break;
      }
      case 'beyond':
        this.#beyond++;
        break;
      case 'stop':
        this.#stopped = true;
        this.#leader?.stop();
        break;
    }
  }

  #start(epoch: number): void {
    this.#epoch = Math.round(epoch);
    this.#lastSent = this.#epoch;
    this.#ledger = new Ledger(this.#schedule, this.#epoch);
    if (!process.env.RUN_DIR) {
      this.#dir = newDirectory(this.#dir);
      this.#identity.name = basename(this.#dir);
    }
    this.#files = new Files(this.#dir, this.#identity.id, this.#started);
    this.#usage.cut();
    if (this.#schedule instanceof Taken) {
      this.#canary?.fly(this.#epoch, Number.POSITIVE_INFINITY);
      this.#leader = new Leader(this.#schedule, this.#ledger, this.#seconds, (told) => this.#tell(told));
      void this.#leader.lead();
    } else {
      this.#canary?.fly(this.#epoch, Math.floor(this.#schedule.duration));
    }
  }

  /** ms since 1970 */
  get #started(): number {
    return Math.round(this.#epoch / 1000);
  }

  /** s since the start of the run */
  readonly #seconds = (): number => (this.#clock.now() - this.#epoch) / 1e6;

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
        this.#errors.add('delivery', 'hops', (error as Error).message);
      }
      this.#ledger.arrive(subscriber, at, seq, stamps);
    };
  }

  #gap(subscriber: number, reason: string): () => void {
    const gap = gapOf(subscriber, this.#epoch === 0 ? 0 : this.#seconds(), reason);
    this.#gaps.push(gap);
    return () => {
      gap.to_s = Math.max(0, this.#seconds());
    };
  }

  /** Until everything is in, nothing more comes, or the drain limit is reached. */
  async #watch(): Promise<void> {
    const { drain, idle } = this.#assignment.options;
    let next = this.#epoch + CHECKPOINT * 1e6;
    let settledAt = 0;
    let [moved, seen, quiet] = [this.#clock.now(), -1, 0];
    while (!this.#stopped) {
      await sleep(LOOK);
      const now = this.#clock.now();
      while (now >= this.#epoch + (this.#timeline.length + 1) * 1e6) this.#cut();
      if (this.#schedule instanceof Pacer)
        noteEnds(this.#ends, this.#schedule, this.#seconds(), this.#ledger);
      if (now > next) {
        await this.#write(false);
        const took = this.#clock.now() - now;
        next = now + Math.max(CHECKPOINT * 1e6, CHECKPOINT_REST * took);
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

  /** Ends one second of the run. */
  #cut(): void {
    const t = this.#timeline.length;
    const row: Interval = {
      ...secondOf(t, this.#seconds(), this.#schedule, this.#ledger),
      canary_ms: this.#canary?.at(t) ?? null,
      generator: this.#usage.cut(),
    };
    const { interval, latencies } = this.#ledger.measures;
    this.#timeline.push(row);
    this.#files?.second(row, interval, this.#started);
    this.#tell({ tell: 'latencies', ms: latencies.map((us) => us / 1000) });
    this.#ledger.cut();
  }

  async #find(): Promise<void> {
    try {
      await findMissing(this.#clock.redis, (body, fate) => {
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
      const told = await readTelemetry(this.#clock.redis, this.#epoch);
      this.#resources = told.resources;
      this.#clocks = told.clocks;
    } catch (error) {
      this.#doubts.push(
        `what the pipeline's processes said of themselves could not be read: ${(error as Error).message}`,
      );
    }
    this.#resources.push(ownUsage(this.#timeline));
    if (this.#beyond > 0) {
      this.#errors.add(
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
      now: this.#clock.now(),
      ended,
      clock: this.#clock.findings(this.#clocks),
      gaps: this.#gaps,
      timeline: this.#timeline,
      resources: this.#resources,
      errors: this.#errors.all,
      canary: this.#canary && { sent: this.#canary.sent, series: this.#canary.series },
      ends: this.#leader?.ends ?? this.#ends,
      doubts: this.#doubts,
    });
    await this.#files?.write(run);
    return run;
  }

  #tell(told: Told): void {
    this.#channel.postMessage(told);
  }
}
