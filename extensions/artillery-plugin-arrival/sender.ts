/**
 * Hooks into the requests of Artillery's HTTP engine. In the open model the n-th virtual user sends the n-th request of the
 * schedule. In the closed model a virtual user takes the next request when it is its turn.
 */
import type { IncomingMessage } from 'node:http';
import { Alarm } from './alarm.ts';
import { type Options, stepsOf, type Table } from './options.ts';
import { failureOf } from './outcome.ts';
import { findPipeline, headersOf } from './pipeline.ts';
import type { Script } from './script.ts';
import { Slots } from './slots.ts';
import { type Answer, monotonic, openChannel, type Slot } from './thread.ts';

/**
 * ms by which a virtual user starts before its request is due. Artillery needs time to prepare a request, its timers tick in whole
 * milliseconds, and it does not catch up after a delay.
 */
const HEAD_START = 1000;
/** ms between two checks whether the load is over */
const LOOK = 100;
/** µs without a request after the schedule, after which the load is over */
const QUIET = 10e6;
/** The function of a loop in the closed model. */
const TURN = 'arrivalTurn';

interface Context {
  vars: Record<string, unknown>;
}
interface CookieJar {
  getCookieString(url: string): Promise<string>;
  setCookie(cookie: string, url: string): Promise<unknown>;
}
interface RequestParams {
  uuid: string;
  cookieJar?: CookieJar | undefined;
  name?: string;
  url?: string;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string;
}
interface Events {
  on(name: string, listener: (...args: never[]) => void): void;
  emit(name: string, ...args: unknown[]): void;
}
type Next = (error?: Error) => void;

export class Sender {
  readonly #options: Options;
  readonly #slots: Slots;
  readonly #alarm = new Alarm();
  readonly #channel = openChannel();
  readonly #pipeline = findPipeline(process.env);
  /** Requests granted to virtual users that are about to loop. */
  readonly #granted = new Map<Context, Slot>();
  /** Requests in flight, by Artillery's id. */
  readonly #inFlight = new Map<string, { n: number; left: boolean }>();
  /** Lines for the recorder, sent at the end of this turn of the event loop. */
  #lines = '';
  #events: Events | undefined;
  /** When the schedule ends, µs, once it has begun. */
  #end = Number.POSITIVE_INFINITY;
  /** When a virtual user last started, or a request was sent or settled, µs. */
  #lastActivity = 0;
  #started = false;
  #hasResult = false;
  #release: (() => void) | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#slots = new Slots(options.closed, options.largest, (line) => this.#send(line));
    this.#channel.onmessage = (event) => this.#onAnswer((event as { data: Answer }).data);
  }

  /** Adds the hooks to all scenarios. */
  attach(script: Script): void {
    const hooks: Record<string, unknown> = {
      ...(script.config.processor as object | undefined),
      arrivalBefore: (params: RequestParams, context: Context, events: Events, next: Next) => {
        this.#before(params, context, events).then(() => next(), next);
      },
      arrivalHold: (_context: unknown, _events: Events, next: Next) => this.#hold(next),
    };
    for (const scenario of script.scenarios) {
      scenario.beforeRequest = [...names(scenario.beforeRequest), 'arrivalBefore'];
      scenario.afterScenario = [...names(scenario.afterScenario), 'arrivalHold'];
      for (const loop of stepsOf(scenario.flow as Table[])) {
        if (loop.whileTrue === TURN) loop.whileTrue = this.#addTurn(hooks, loop.loop as Table[]);
      }
    }
    script.config.processor = hooks;
  }

  /**
   * Adds a hook that a loop of the closed model calls before each round: it waits for the turn of the loop's first post.
   * @returns the name of the hook
   */
  #addTurn(hooks: Record<string, unknown>, loop: Table[]): string {
    const first = stepsOf(loop).find(({ post }) => post !== undefined)?.post as Table | undefined;
    const flow = first?.name as string | undefined;
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
    this.#lastActivity = monotonic();
    if (this.#events === undefined) this.#watch(events);
    this.#start();
    const { closed } = this.#options;
    const slot = this.#granted.get(context) ?? (await this.#slots.next(closed ? params.name : undefined));
    this.#granted.delete(context);
    if (slot === undefined) throw new Error(closed ? 'ARRIVAL_OVER' : 'ARRIVAL_BEYOND_SCHEDULE');
    this.#inFlight.set(params.uuid, { n: slot.n, left: false });
    const pipeline = await this.#pipeline;
    const { token } = context.vars;
    params.url = `${pipeline.ingest.url}${slot.path}`;
    params.headers = {
      ...params.headers,
      ...headersOf(pipeline, typeof token === 'string' ? token : undefined),
      ...(slot.traceparent !== undefined && { traceparent: slot.traceparent }),
    };
    if (typeof params.json === 'object' && params.json !== null) {
      params.json = withFields(slot.body, params.json);
    } else {
      params.json = undefined;
      params.body = slot.body;
    }
    if (!closed) params.cookieJar = this.#waitingJar(slot.due_us, params.cookieJar);
  }

  /**
   * A cookie jar that waits until the request is due: cookies are the last thing that Artillery's client asks for before it sends.
   */
  #waitingJar(due: number, jar: CookieJar | undefined): CookieJar {
    return {
      getCookieString: async (url) => {
        await this.#alarm.at(due);
        return (await jar?.getCookieString(url)) ?? '';
      },
      setCookie: async (cookie, url) => jar?.setCookie(cookie, url),
    };
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

  /** Records when each request is sent and answered, by Artillery's events. */
  #watch(events: Events): void {
    this.#events = events;
    const settle = (uuid: string, outcome: object) => {
      const request = this.#inFlight.get(uuid);
      this.#inFlight.delete(uuid);
      // The recorder drops a request that was never sent.
      if (request?.left) this.#send({ settled: request.n, at_us: this.#now(), ...outcome });
    };
    events.on('trace:http:request', (_params: RequestParams, uuid: string) => {
      const request = this.#inFlight.get(uuid);
      if (request === undefined || request.left) return; // a redirect
      request.left = true;
      this.#send({ sent: request.n, at_us: this.#now() });
    });
    events.on('trace:http:response', (answer: IncomingMessage, uuid: string) => {
      answer.once('end', () => settle(uuid, { status: answer.statusCode }));
    });
    events.on('trace:http:error', (error: NodeJS.ErrnoException, uuid: string) => {
      settle(uuid, failureOf(error));
    });
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
      const { scheduled, balanced, requests, deliveries, ...counts } = answer.account;
      for (const [name, count] of Object.entries({ scheduled, ...counts })) {
        this.#events?.emit('counter', `arrival.${name}`, count);
      }
      this.#events?.emit('counter', 'arrival.invalid', answer.verdict.result === 'invalid' ? 1 : 0);
      this.#hasResult = true;
      this.#release?.();
    }
  }

  /** Whether no more requests will be sent and all are answered. */
  #loadIsOver(): boolean {
    const over = this.#slots.over || (this.#options.closed && monotonic() > this.#end);
    if (over && this.#inFlight.size === 0 && this.#granted.size === 0) return true;
    // Virtual users may be fewer than requests, or give up before they send.
    const quiet = monotonic() > Math.max(this.#end, this.#lastActivity) + QUIET;
    return quiet && ![...this.#inFlight.values()].some(({ left }) => left);
  }

  #now(): number {
    this.#lastActivity = monotonic();
    return Math.floor(this.#lastActivity);
  }

  #send(line: object): void {
    if (this.#lines === '') {
      setImmediate(() => {
        this.#channel.postMessage(this.#lines);
        this.#lines = '';
      });
    }
    this.#lines += `${JSON.stringify(line)}\n`;
  }
}

/** A body whose messages also have the script's payload and fields. */
export function withFields(body: string, given: object): object {
  const add = ({ payload, ...fixed }: { payload: unknown }) => ({ payload, ...given, ...fixed });
  const messages = JSON.parse(body);
  return Array.isArray(messages) ? messages.map(add) : add(messages);
}

function names(hooks: unknown): unknown[] {
  return hooks === undefined ? [] : [hooks].flat();
}
