/**
 * Hooks into the requests of Artillery's HTTP engine. In the open model the n-th virtual user sends the n-th request of the
 * schedule. In the closed model a virtual user takes the next request when it is its turn.
 */
import { Alarm } from './alarm.ts';
import { takeOver } from './answer.ts';
import { changedIn } from './hooks.ts';
import { type Events, InFlight } from './in-flight.ts';
import { type Options, stepsOf } from './options.ts';
import { findPipeline, headersOf } from './pipeline.ts';
import { names, Processor, TURN } from './processor.ts';
import { lowered, type RequestParams, waitingJar, withFields } from './request.ts';
import type { Script } from './script.ts';
import { Slots } from './slots.ts';
import type { Table } from './table.ts';
import { type Answer, countersOf, Lines, monotonic, openChannel, type Slot } from './thread.ts';
import { refuseUpgrades } from './upgrade.ts';

/**
 * How long a virtual user starts before its request is due, ms. Artillery needs time to prepare a request, its timers tick in whole
 * milliseconds, and it does not catch up after a delay.
 */
const HEAD_START = 1000;
/** The time between two checks whether the load is over, ms. */
const LOOK = 100;
/** The time without a request after the schedule, after which the load is over, µs. */
const QUIET = 10e6;
/** The condition of a loop in the closed model whose first post may be skipped. */
const GO_ON = 'arrivalGoOn';

interface Context {
  vars: Record<string, unknown>;
}
type Next = (error?: Error) => void;

export class Sender {
  readonly #options: Options;
  readonly #slots: Slots;
  readonly #alarm = new Alarm();
  readonly #channel = openChannel();
  readonly #lines = new Lines(this.#channel, setImmediate);
  readonly #pipeline = findPipeline(process.env);
  /** Requests granted to virtual users that are about to loop. */
  readonly #granted = new Map<Context, Slot>();
  readonly #inFlight: InFlight;
  #events: Events | undefined;
  /** End of the schedule, µs, once it has begun. */
  #end = Number.POSITIVE_INFINITY;
  /** The moment at which a virtual user last started, µs. */
  #lastStart = 0;
  #started = false;
  #hasResult = false;
  #release: (() => void) | undefined;
  /** The script's target, which Artillery puts before a path. */
  #target = '';

  constructor(options: Options) {
    this.#options = options;
    const send = (line: object) => this.#send(line);
    this.#slots = new Slots(options.closed, options.largest, send);
    this.#inFlight = new InFlight(options.timeout, send);
    this.#channel.onmessage = (event) => this.#onAnswer((event as { data: Answer }).data);
  }

  /** Adds the hooks to all scenarios. */
  attach(script: Script): void {
    const processor = new Processor(script.config.processor as object | undefined);
    const { functions } = processor;
    Object.assign(functions, {
      arrivalBefore: (params: RequestParams, context: Context, events: Events, next: Next) => {
        this.#before(params, context, events).then(() => next(), next);
      },
      arrivalError: this.#inFlight.onError,
      arrivalErrorHold: (_error: Error, _params: unknown, _context: unknown, _events: Events, next: Next) =>
        this.#hold(next),
      arrivalHold: (_context: unknown, _events: Events, next: Next) => this.#hold(next),
    });
    refuseUpgrades();
    this.#target = String(script.config.target);
    // Artillery multiplies a text, and closes a socket that is silent for 8 s if it has no number.
    const { http } = script.config as { http?: Table };
    if (script.config.timeout !== undefined) script.config.timeout = this.#options.timeout;
    else if (http?.timeout !== undefined) http.timeout = this.#options.timeout;
    for (const scenario of script.scenarios) {
      processor.watch(scenario, 'beforeScenario', (message, context, events) =>
        this.#options.closed ? Promise.resolve() : this.#unsent(message, undefined, context, events),
      );
      processor.watch(scenario, 'beforeRequest', this.#onHook);
      processor.watch(scenario, 'afterResponse', this.#ended);
      processor.watch(scenario, 'afterScenario', this.#ended);
      processor.watch(scenario, 'onError', this.#ended);
      scenario.onError = ['arrivalError', ...names(scenario.onError), 'arrivalErrorHold'];
      scenario.afterScenario = [...names(scenario.afterScenario), 'arrivalHold'];
      for (const step of stepsOf(scenario.flow as Table[])) {
        if (step.whileTrue === TURN) step.whileTrue = this.#addTurn(functions, step.loop as Table[]);
        else if (step.whileTrue !== undefined) processor.watchLoop(step, this.#ended);
        const post = step.post as Table | undefined;
        // Artillery calls the request's own hooks last. One that fails must not have taken a request.
        if (post === undefined) continue;
        takeOver(post, isRead(post, scenario));
        processor.watch(post, 'beforeRequest', this.#onHook);
        processor.watch(post, 'afterResponse', this.#ended);
        post.beforeRequest = [...names(post.beforeRequest), 'arrivalBefore'];
      }
    }
    script.config.processor = functions;
  }

  readonly #onHook = (message: string, params: RequestParams, context: Context, events: Events) =>
    this.#unsent(message, params.name, context, events);

  /** Lets a virtual user end whose request has its outcome. Artillery counts the error. */
  readonly #ended = () => new Promise<void>((resolve) => this.#hold(() => resolve()));

  /** Takes the request of a virtual user that will not send it, and reports why. */
  async #unsent(message: string, flow: string | undefined, context: Context, events: Events): Promise<void> {
    const slot = await this.#take(flow, context, events);
    if (slot !== undefined) this.#send({ unsent: slot.n, message });
  }

  /** The request of a virtual user; undefined: there is none left. */
  async #take(flow: string | undefined, context: Context, events: Events): Promise<Slot | undefined> {
    this.#lastStart = monotonic();
    if (this.#events === undefined) {
      this.#events = events;
      this.#inFlight.watch(events);
    }
    this.#start();
    const slot =
      this.#granted.get(context) ?? (await this.#slots.next(this.#options.closed ? flow : undefined));
    this.#granted.delete(context);
    return slot;
  }

  /**
   * Adds a hook that a loop of the closed model calls before each round: it waits for the turn of the loop's first post. One that
   * may be skipped takes its own turn when it is sent, and the hook only says whether the load goes on.
   * @returns the name of the hook
   */
  #addTurn(hooks: Record<string, unknown>, loop: Table[]): string {
    const first = loop.find((step) => step.post !== undefined || step.loop !== undefined)?.post as
      | Table
      | undefined;
    if (first === undefined || first.ifTrue !== undefined || first.probability !== undefined) {
      hooks[GO_ON] = (_context: Context, next: (goOn: boolean) => void) => {
        this.#start();
        // A round in which nothing is sent must not keep the thread from the others.
        setTimeout(() => next(!this.#slots.over && monotonic() < this.#end), 1);
      };
      return GO_ON;
    }
    const flow = first.name as string | undefined;
    const name = flow === undefined ? TURN : `${TURN} ${flow}`;
    hooks[name] = (context: Context, next: (goOn: boolean) => void) => {
      this.#start();
      this.#slots.next(flow).then((slot) => {
        if (slot !== undefined) this.#granted.set(context, slot);
        next(slot !== undefined);
      });
    };
    return name;
  }

  async #before(params: RequestParams, context: Context, events: Events): Promise<void> {
    const { closed, given, defaults, headers, path } = this.#options;
    const slot = await this.#take(params.name, context, events);
    if (slot === undefined) throw new Error(closed ? 'ARRIVAL_OVER' : 'ARRIVAL_BEYOND_SCHEDULE');
    const url = `${this.#target}${path ?? '/messages'}`;
    const changed = changedIn(params, { url, id: String(given.id ?? 'id'), closed });
    if (changed !== undefined) {
      this.#send({ unsent: slot.n, message: changed });
      throw new Error('ARRIVAL_CHANGED_BY_A_HOOK');
    }
    this.#inFlight.add(slot.n, params);
    const pipeline = await this.#pipeline;
    const { token } = context.vars;
    params.url = `${pipeline.ingest.url}${slot.path}`;
    params.headers = {
      ...headersOf(pipeline, typeof token === 'string' ? token : undefined),
      ...lowered(defaults),
      ...lowered(headers),
      ...lowered(params.headers),
      ...(slot.traceparent !== undefined && { traceparent: slot.traceparent }),
    };
    if (typeof params.json === 'object' && params.json !== null) {
      params.json = withFields(slot.body, params.json);
    } else {
      params.json = undefined;
      params.body = slot.body;
    }
    if (!closed) params.cookieJar = waitingJar(this.#alarm, slot.due_us, params.cookieJar);
  }

  /**
   * Starts the schedule when the first virtual user comes. The first one of a phase comes an interval
   * after the phase's begin, and later phases may have longer intervals.
   */
  #start(): void {
    if (this.#started) return;
    this.#started = true;
    const ahead = Math.ceil((HEAD_START + this.#options.spread) * 1000);
    this.#send({ start: this.#options.closed ? true : { in_us: ahead } });
  }

  /** Keeps the first virtual user until the result is in: Artillery takes no metrics after the last one has ended. */
  #hold(next: Next): void {
    if (this.#release !== undefined || this.#hasResult) next();
    else this.#release = next;
  }

  #onAnswer(answer: Answer): void {
    if ('slots' in answer) {
      this.#slots.add(answer.slots);
    } else if ('started' in answer) {
      this.#end = answer.started.epoch_us + this.#options.length * 1e6;
      const look = setInterval(() => {
        if (!this.#loadIsOver()) return;
        clearInterval(look);
        this.#send({ end: true });
      }, LOOK);
    } else if ('progress' in answer) {
      for (const ms of answer.progress.latencies_ms) this.#events?.emit('histogram', 'arrival.latency', ms);
    } else if ('summary' in answer) {
      for (const [name, count] of Object.entries(countersOf(answer))) {
        this.#events?.emit('counter', name, count);
      }
      this.#hasResult = true;
      this.#release?.();
    }
  }

  /** Whether no more requests will be sent and all are answered. */
  #loadIsOver(): boolean {
    const over = this.#slots.over || (this.#options.closed && monotonic() > this.#end);
    if (over && this.#inFlight.settled && this.#granted.size === 0) return true;
    // Virtual users may be fewer than requests, or give up before they send.
    const quietSince = Math.max(this.#end, this.#lastStart, this.#inFlight.lastActivity);
    return monotonic() > quietSince + QUIET && !this.#inFlight.awaited;
  }

  #send(line: object): void {
    this.#lines.add(line);
  }
}

/** Tells whether the script reads the answer to a post. */
function isRead(post: Table, scenario: Table): boolean {
  const { capture, match, expect, afterResponse = scenario.afterResponse } = post;
  return [capture, match, expect, afterResponse].some((reader) => reader !== undefined);
}
